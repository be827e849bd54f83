package uid_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestLateCallers lets callers go on that have loaded the window before it ended, or looked at the
// generator before it was closed: there is nothing left for them in the old lanes, and no run that
// would get there is of the old worker id.
func TestLateCallers(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, c *uid.Cached, a *place){
		"replace": func(t *testing.T, c *uid.Cached, a *place) {
			a.lose(0, time.Time{}, claimtest.Endless)
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if s := c.Stats(); s.Worker != 0 || s.Len == 0 {
				t.Fatalf("worker %d, %d ids in the ring, want worker 0's", s.Worker, s.Len)
			}
		},
		"close": func(t *testing.T, c *uid.Cached, _ *place) {
			mustClose(t, c)
			if err := c.LatePad(); !errors.Is(err, uid.ErrClosed) || c.Stats().Len != 0 {
				t.Errorf("a caller's padding after Close: %v, %d ids, want ErrClosed and none", err, c.Stats().Len)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newPlace(20 * time.Second)
				c := uid.Open(t, uid.NewCachedAt, a, uid.Both{RunLength: 16, SeqStart: 1,
					MaxLag: time.Hour, BoostPower: uid.NoBoost}, uid.NewTestClock())
				time.Sleep(7400 * time.Millisecond) // the keeper extends 100 ms to 2.6 s from now
				mustNext(t, c)                      // the lane has a run, of which something is left
				next := c.Late()
				end(t, c, a)
				if n := next(); n != 0 {
					t.Errorf("a late Next got %d ids, want none", n)
				}
				if n := c.Refill(); (n > 0) != (name == "replace") {
					t.Errorf("a late refill got %d runs", n)
				}
			})
		})
	}
}

// TestContended takes ids on one lane from several goroutines at once, with nothing in between that
// would keep them from meeting. No position is repeated. A caller that is stopped between two
// instructions while a run ends may skip a position of the next run: without contention there are
// none, and with it the test says how many. Time stands still in a bubble whose goroutines do not
// wait, so there is no jump.
func TestContended(t *testing.T) {
	t.Parallel()
	for name, size := range map[string][]int{"alone": {0}, "next": {0, 0, 0, 0},
		"fill": {2, 2, 2, 2}, "both": {0, 3, 0, 5}} {
		for _, run := range []int{1, 2, 8, 4096} {
			synctest.Test(t, func(t *testing.T) {
				l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 12, Epoch: bubbleEpoch}
				c := cachedAt(t, uid.Both{Layout: l, RunLength: run, SeqStart: 1}, uid.NewTestClock())
				all := make([][]uid.ID, len(size))
				var wg sync.WaitGroup
				for k := range all {
					all[k] = make([]uid.ID, 60_000/scale)
					wg.Go(func() {
						ids, ctx := all[k], context.Background()
						for i := 0; i < len(ids); {
							var err error
							if n := size[k]; n > 0 {
								_, err = c.Fill(ctx, ids[i:min(i+n, len(ids))])
								i += n
							} else {
								ids[i], err = c.Next(ctx)
								i++
							}
							if err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				wg.Wait()
				ids := slices.Concat(all...)
				slices.Sort(ids)
				position := func(id uid.ID) int64 { p := c.Parse(id); return p.Tick*4096 + p.Seq }
				for i := range ids[1:] {
					if ids[i] == ids[i+1] {
						t.Fatalf("%s, runs of %d: %d was repeated", name, run, ids[i])
					}
				}
				skipped := position(ids[len(ids)-1]) - position(ids[0]) + 1 - int64(len(ids))
				if skipped != 0 && name == "alone" {
					t.Errorf("runs of %d: one goroutine skipped %d positions, want none", run, skipped)
				}
				if skipped < 0 || skipped > int64(len(ids))/100 {
					t.Errorf("%s, runs of %d: %d of %d positions were skipped, want a few at most",
						name, run, skipped, len(ids))
				}
				t.Logf("%s, runs of %d: %d of %d positions were skipped", name, run, skipped, len(ids))
			})
		}
	}
}

// TestFillFromTheMiddle fills from lanes that begin their runs in the middle, as a new generator's
// do: with genes, too, one id follows the other.
func TestFillFromTheMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		middle := 0
		for range 8 {
			time.Sleep(time.Second)
			c := cachedAt(t, uid.Both{RunLength: 256,
				Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 12, GeneBits: 5,
					Epoch: bubbleEpoch}}, uid.NewTestClock())
			ids := make([]uid.ID, 1000)
			if _, err := c.FillGene(t.Context(), 7, ids); err != nil {
				t.Fatal(err)
			}
			first := c.Parse(ids[0])
			if first.Seq%256 != 0 {
				middle++
			}
			for i, id := range ids {
				if p := c.Parse(id); p.Gene != 7 || p.Worker != 1 ||
					(p.Tick-first.Tick)*4096+p.Seq-first.Seq != int64(i) {
					t.Fatalf("the %dth id is %+v, the first %+v", i, p, first)
				}
			}
			c.Close()
		}
		if middle == 0 {
			t.Error("every run was taken from its start")
		}
	})
}
