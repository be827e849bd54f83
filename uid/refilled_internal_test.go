package uid

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
)

// TestRefillOwnLane calls from many goroutines: each call refills the lane that it found used up,
// and no other. A lane that stays used up meets a failed add with every call.
func TestRefillOwnLane(t *testing.T) {
	t.Parallel()
	c := Open(t, NewCachedAt, claimtest.Static(1), Both{Lanes: 16, RunLength: 64}, NewTestClock())
	const callers, calls = 64, 100
	for range callers {
		var wg sync.WaitGroup
		wg.Go(func() {
			for range calls {
				if _, err := c.Next(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Wait()
	}
	inUse := 0
	for i := range c.lanes {
		l := &c.lanes[i]
		if l.runs > 0 {
			inUse++
		} else if failed := l.next.Load() - usedUp; failed > 0 {
			t.Errorf("lane %d was never refilled, and %d calls found it used up", i, failed)
		}
	}
	if inUse == 0 {
		t.Error("no lane was refilled")
	}
}

// TestFillKeepsLane moves the seat of a caller while it composes for a long Fill, to a lane that has
// lower ids: all ids of the Fill are of the lane that it began with.
func TestFillKeepsLane(t *testing.T) {
	t.Parallel()
	var c *Cached
	var armed atomic.Bool
	clock := NewTestClock()
	clock.OnRead = func() {
		if armed.Load() {
			c.seats.table[0].Store(&c.lanes[1])
		}
	}
	c = Open(t, NewCachedAt, claimtest.Static(1), Both{Lanes: 2, RunLength: 16, SeqStart: 1}, clock)
	c.StopPadder()
	if _, err := c.fill(t.Context(), 1, make([]ID, 1)); err != nil { // lane 1 has the rest of a run
		t.Fatal(err)
	}
	armed.Store(true)
	ids := make([]ID, 1<<18)
	if n, err := c.fill(t.Context(), 0, ids); n != len(ids) || err != nil {
		t.Fatal(n, err)
	}
	if c.laneOf(0) != &c.lanes[1] {
		t.Fatal("the seat was not moved: the Fill composed nothing")
	}
	if !slices.IsSorted(ids) {
		t.Error("a Fill whose seat was moved has ids that do not rise")
	}
}

// TestRefillOnce has goroutines use up runs of two ids of one lane: each caller's ids rise, because
// no refill overwrites a run, or puts a lower one after a higher one. With a lock that comes after
// the check of the lane, or after the take of the run, two refills do.
func TestRefillOnce(t *testing.T) {
	t.Parallel()
	c := Open(t, NewCachedAt, claimtest.Static(1), Both{RunLength: 2}, NewTestClock())
	stop := time.Now().Add(time.Second)
	var high atomic.Int64
	var wg sync.WaitGroup
	for range max(2, min(4, runtime.GOMAXPROCS(0))) {
		wg.Go(func() {
			for i := 0; i < 400_000/slow && (i%1024 > 0 || time.Now().Before(stop)); i++ {
				low := high.Load() // returned before this call began
				id, err := c.Next(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if int64(id) <= low {
					t.Errorf("call %d: %d came after %d had been returned", i, id, low)
					return
				}
				for h := high.Load(); int64(id) > h && !high.CompareAndSwap(h, int64(id)); h = high.Load() {
				}
			}
		})
	}
	wg.Wait()
}
