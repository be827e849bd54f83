package uid

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
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
					o := Options{Layout: bitsalloc.Layout{Epoch: time.Now().Add(-time.Hour)}}
					c := Open(t, NewCachedAt, assignertest.Static(workers[0]), o, NewTestClock())
					p := c.composer
					id, err := c.Next(t.Context()) // gives a lane a run
					if err != nil {
						t.Fatal(err)
					}
					if err := p.fillAll(); err != nil {
						t.Fatal(err)
					}
					if pos := p.pos.Load(); !p.of(pos).begun(pos) {
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
						e := p.of(uint64(number))
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
