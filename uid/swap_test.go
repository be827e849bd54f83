package uid

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
)

// spin waits for what other goroutines do, and gives its processor up only now and then: the callers
// are to run at the same time as what follows.
func spin(done func() bool) {
	for i := 1; !done(); i++ {
		if i%1024 == 0 {
			runtime.Gosched()
		}
	}
}

// TestLaneDropExact drops the rest of runs that two goroutines take from: what drop leaves to the
// callers is what they got, to the number.
func TestLaneDropExact(t *testing.T) {
	t.Parallel()
	const length = 1 << 12
	for round := range 10_000 / slow {
		l := &newLanes(1)[0]
		l.begin(0, length)
		l.taken = length
		var taken atomic.Int64
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for {
					if _, ok := l.take(length); !ok {
						return
					}
					taken.Add(1)
				}
			})
		}
		spin(func() bool { return l.next.Load() >= uint64(round%32) })
		l.mu.Lock()
		l.drop()
		l.mu.Unlock()
		wg.Wait()
		if got := int64(l.taken); got != taken.Load() {
			t.Fatalf("round %d: drop leaves %d numbers to the callers, and they took %d", round, got, taken.Load())
		}
	}
}

// TestDefaultCloseExact closes a Default while callers take ids: the newest position that Close saw,
// from which the end of the claim is computed, is that of the newest id that a caller got.
func TestDefaultCloseExact(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 50, WorkerBits: 1, SeqBits: 12, Tick: time.Nanosecond,
		Epoch: time.Now().Add(-time.Hour).Truncate(time.Second)}
	for round := range 2000 / slow {
		d := Open(t, NewDefaultAt, assignertest.Static(0), Options{Layout: l}, NewTestClock())
		calls, newest := Takers(t, d, 2)
		spin(func() bool { return calls.Load() >= int64(1+round%64) })
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		// The ids of worker 0 are positions.
		if got, want := d.final.Load(), int64(newest()); got != want {
			t.Fatalf("round %d: Close counts ids up to %d, and a caller got %d", round, got, want)
		}
	}
}
