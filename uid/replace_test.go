package uid

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
)

// TestReplaceWorker replaces the worker id of a generator whose ring is ahead of the clock: no lane
// and no slot of the ring keeps a number of the old one, and the new numbers lie above all that were
// handed out, also with a smaller worker id in the middle of a tick.
func TestReplaceWorker(t *testing.T) {
	t.Parallel()
	for _, workers := range [][2]int64{{7, 3}, {3, 7}} {
		for _, taken := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v/%v", workers, taken), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					o := Both{Layout: bitsalloc.Layout{Epoch: time.Now().Add(-time.Hour)}}
					c := Open(t, NewCachedAt, claimtest.Static(workers[0]), o, NewTestClock())
					p := c.composer
					id, err := c.Next(t.Context()) // gives a lane a run
					if err != nil {
						t.Fatal(err)
					}
					if err := p.fillAll(); err != nil {
						t.Fatal(err)
					}
					if pos := p.pos.Load(); !p.timeline.of(pos).begun(pos) {
						t.Fatalf("the position %d is not within a tick, so the test shows less than it says", pos)
					}
					heads := make([]int64, p.ring.Cap())
					highest := int64(id)
					if taken {
						n := p.ring.TryTakeN(heads)
						highest = heads[n-1] + int64(p.runLen) - 1
					}
					w := *c.keeper.window.Load()
					w.worker = workers[1]
					c.keeper.window.Store(&w)
					if err := p.fillAll(); err != nil {
						t.Fatal(err)
					}
					if id, err = c.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
					n := p.ring.TryTakeN(heads)
					for _, number := range append([]int64{int64(id)}, heads[:n]...) {
						e := p.timeline.of(uint64(number))
						if worker := number >> e.seqBits & e.alloc.MaxWorker(); worker != workers[1] {
							t.Fatalf("%d is of worker %d after it was replaced by %d", number, worker, workers[1])
						}
						if number <= highest {
							t.Fatalf("%d comes after %d", number, highest)
						}
						highest = number
					}
				})
			})
		}
	}
}

// TestReplaceBetweenTicks replaces the worker id when the old one has used up a tick and no number
// of the next one: the new one gets that tick whole.
func TestReplaceBetweenTicks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{MaxLead: time.Nanosecond, SeqStart: 1})
		var tick [8192]ID
		if _, err := c.Fill(t.Context(), tick[:]); err != nil {
			t.Fatal(err)
		}
		w := *c.keeper.window.Load()
		w.worker = 3
		c.keeper.window.Store(&w)
		if n, err := c.composer.fill(); n > 0 {
			t.Fatalf("fill() = %d, %v before the next tick", n, err)
		}
		time.Sleep(time.Second)
		start := time.Now()
		if _, err := c.Fill(t.Context(), tick[:]); err != nil || time.Since(start) != 0 {
			t.Errorf("the next tick's ids took %v, %v", time.Since(start), err)
		}
		if p := c.Parse(tick[0]); p.Worker != 3 || !p.Time.Equal(start) || p.Seq != 0 {
			t.Errorf("the first id of worker 3 is %+v, want the first one of %v", p, start)
		}
	})
}

// TestReplaceNotNeeded moves the window's begin up to the position: what was composed under it
// before stays.
func TestReplaceNotNeeded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{SeqStart: 1})
		w := *c.keeper.window.Load()
		w.from = c.composer.pos.Load()
		c.keeper.window.Store(&w)
		c.composer.ring.TryTakeN(make([]int64, 1))
		if n, err := c.composer.fill(); n != 1 || err != nil || c.Stats().RunsStale != 0 {
			t.Errorf("fill() = %d, %v, %d runs were dropped, want 1 and none", n, err, c.Stats().RunsStale)
		}
	})
}

// TestBeginsNow: whatever MaxLag allows, a worker id begins with the current tick, also close to the
// epoch. Ids of the ticks before may be those of another process that had the worker id.
func TestBeginsNow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := stoppedCached(t, Both{MaxLag: 3 * time.Hour, SeqStart: 1})
		for worker := range int64(2) {
			w := *c.keeper.window.Load()
			w.worker = 1 + worker
			c.keeper.window.Store(&w)
			if _, err := c.composer.fill(); err != nil {
				t.Fatal(err)
			}
			id, err := c.Next(t.Context())
			if p := c.Parse(id); err != nil || p.Worker != w.worker || !p.Time.Equal(time.Now()) {
				t.Errorf("worker %d begins with %+v, %v, want an id of %v", w.worker, p, err, time.Now())
			}
			time.Sleep(30 * time.Minute)
		}
	})
}
