package uid

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
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
		d := Open(t, NewDefaultAt, claimtest.Static(0), Both{Layout: l}, NewTestClock())
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

// TestCachedCloseExact closes a Cached while callers take runs of two ids, each of which is a tick:
// what Close gives back begins after the last id that a caller got. Close locks one lane after the
// other, so callers take runs to the later ones while it has begun with the first.
func TestCachedCloseExact(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 50, WorkerBits: 1, SeqBits: 1, Tick: time.Nanosecond,
		Epoch: time.Now().Add(-time.Hour).Truncate(time.Second)}
	o := Both{Layout: l, RunLength: 2, BoostPower: 10, Lanes: 32}
	stop := time.Now().Add(time.Second) // on one processor a round may take as long as a time slice
	for round := 0; round < 100 && (round < 10 || time.Now().Before(stop)); round++ {
		a := &claimtest.Memory{Length: claimtest.Endless}
		c := Open(t, NewCachedAt, a, o, NewTestClock())
		c.StopPadder() // the callers compose, and Close need not wait for it
		calls, newest := Takers(t, c, 2)
		spin(func() bool { return calls.Load() >= int64(1+round%64) })
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		used := a.Calls(claimtest.OpRelease)[0].Asked
		if last := c.Parse(newest()).Time; !used.After(last) {
			t.Fatalf("round %d: Close gives back what is after %v, and a caller got an id of %v", round, used, last)
		}
	}
}

// TestFillWhileIdsAreThere has two goroutines share exactly the ids that a tick has, which come to
// the lane in short runs. Whatever the other one does meanwhile, a call finds its ids: it does not
// fail, and does not wait, as a ctx that has ended shows. With TakePad the callers compose in every
// second round.
func TestFillWhileIdsAreThere(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, policy := range map[string]TakePolicy{"pad": TakePad, "wait": TakeWait, "reject": TakeReject} {
		t.Run(name, func(t *testing.T) {
			var tick atomic.Int64
			begin := time.Now().Truncate(time.Second)
			read := func() (time.Time, time.Duration) {
				mono := time.Duration(tick.Load()) * time.Second
				return begin.Add(mono), mono
			}
			l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 8, Epoch: begin.Add(-time.Hour)}
			o := Both{Layout: l, RunLength: 16, SeqStart: 1, MaxLead: time.Nanosecond,
				TakePolicy: policy, BoostPower: NoBoost}
			c, err := newCached(t.Context(), claimtest.Static(1), o.Cached(), read)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			c.StopPadder()
			share := func() {
				for range 32 { // half of the tick's 256 ids
					if n, err := c.Fill(ended, make([]ID, 4)); err != nil {
						t.Errorf("Fill() = %d, %v while ids are there", n, err)
						return
					}
				}
			}
			const over = 1 << 62
			var turn, done atomic.Int64
			var wg sync.WaitGroup
			wg.Go(func() {
				for i := int64(1); ; i++ {
					spin(func() bool { return turn.Load() >= i })
					if turn.Load() == over {
						return
					}
					share()
					done.Store(i)
				}
			})
			stop := time.Now().Add(time.Second / 3) // on one processor a round takes time slices
			for i := int64(1); i <= 3000/slow && !t.Failed() && time.Now().Before(stop); i++ {
				if policy != TakePad || i%2 == 0 {
					_ = c.composer.fillAll() // up to MaxLead
				}
				turn.Store(i)
				share()
				spin(func() bool { return done.Load() >= i })
				tick.Add(1)
			}
			turn.Store(over)
			wg.Wait()
		})
	}
}
