package segment_test

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/segtest"
)

// leafBuffer hands out ids as the original's double buffer does: it adds to a counter under a read
// lock. next reports whether a call would have to wait for the lock.
type leafBuffer struct {
	mu    sync.RWMutex // write-locked by the loader and to switch the buffers
	value atomic.Int64
}

func (b *leafBuffer) next() (id int64, waits bool) {
	if !b.mu.TryRLock() {
		return 0, true
	}
	defer b.mu.RUnlock()
	return b.value.Add(1), false
}

// TestNextTakesNoLock: a call of the original takes and releases a lock, and waits while another
// goroutine holds it. Goroutines contend for the lock's cache line. Here a call takes no lock: while
// the test holds every lock of the Generator, goroutines get what is left of a range, by Next and by
// Fill.
func TestNextTakesNoLock(t *testing.T) {
	t.Parallel()
	var original leafBuffer
	original.mu.Lock()
	if id, waits := original.next(); !waits {
		t.Errorf("the original handed out %d while its lock was held", id)
	}
	original.mu.Unlock()

	g := segtest.New(t, newFake(100_000), nil)
	tag, err := g.Tag(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	segtest.Next(t, g, "a", 20_001) // past the mark
	segtest.AwaitQuiet(t, g)
	const goroutines, each = 4, 10_000
	unlock := g.Locked()
	got := make(chan []int64, goroutines)
	for i := range goroutines {
		go func() {
			ids := make([]int64, each)
			var err error
			for n := range ids[:each/2] {
				if i%2 == 0 {
					ids[n], err = g.Next(t.Context(), "a")
				} else {
					ids[n], err = tag.Next(t.Context())
				}
				if err != nil {
					t.Errorf("Next: %v", err)
				}
			}
			if _, err := tag.Fill(t.Context(), ids[each/2:]); err != nil {
				t.Errorf("Fill: %v", err)
			}
			got <- ids
		}()
	}
	timer := time.NewTimer(time.Minute)
	var all []int64
	for range goroutines {
		select {
		case ids := <-got:
			all = append(all, ids...)
		case <-timer.C:
			t.Error("a call waits for a lock")
			unlock()
			unlock = func() {}
			all = append(all, <-got...)
		}
	}
	timer.Stop()
	unlock()
	segtest.Distinct(t, all)
	if want := goroutines * each; len(all) != want || slices.Min(all) != 20_001 {
		t.Errorf("%d ids from %d on, want %d from 20001 on", len(all), slices.Min(all), want)
	}
}
