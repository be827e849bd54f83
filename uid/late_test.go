package uid_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// TestLateCallers lets callers go on who have loaded the tenure before it ended, or looked at the generator before it was closed: there is nothing
// left for them in the old lanes, and no run that would get there is of the old worker id.
func TestLateCallers(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, c *uid.Cached, a *scriptedAssigner){
		"rebase": func(_ *testing.T, c *uid.Cached, _ *scriptedAssigner) { c.Rebase() },
		"replace": func(t *testing.T, c *uid.Cached, a *scriptedAssigner) {
			a.set(func(a *scriptedAssigner) {
				a.extend = assigner.ErrClaimLost
				a.worker, a.from, a.until = 0, time.Time{}, time.Time{}
			})
			time.Sleep(time.Second)
			synctest.Wait()
			if s := c.Stats(); s.Worker != 0 || s.Len == 0 {
				t.Fatalf("worker %d, %d ids in the ring, want worker 0's", s.Worker, s.Len)
			}
		},
		"close": func(t *testing.T, c *uid.Cached, _ *scriptedAssigner) {
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			if err := c.LatePad(); !errors.Is(err, uid.ErrClosed) || c.Stats().Len != 0 {
				t.Errorf("a caller's padding behind Close: %v, %d ids, want ErrClosed and none", err, c.Stats().Len)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &scriptedAssigner{worker: 1, from: time.Now(), until: time.Now().Add(20 * time.Second)}
				c, err := uid.NewCachedAt(t.Context(), a, &uid.Options{Layout: bubbleLayout(), RunLength: 16, SeqStart: 1, MaxLag: time.Hour, BoostPower: uid.NoBoost}, uid.NewTestClock())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				time.Sleep(9500 * time.Millisecond) // half a second before half of the window is used
				mustNext(t, c)                      // the lane has a run, of which something is left
				next, fill := c.Late()
				end(t, c, a)
				if n, m := next(), fill(); n != 0 || m != 0 {
					t.Errorf("a late Next got %d ids and a late Fill %d, want none", n, m)
				}
			})
		})
	}
}

// TestContended takes ids on one lane from several goroutines at once, with nothing in between that would keep them from meeting: every position from
// the first to the last comes once. Time stands still in a bubble whose goroutines do not wait, so that there is no jump.
func TestContended(t *testing.T) {
	t.Parallel()
	for name, size := range map[string][4]int{"next": {}, "fill": {2, 2, 2, 2}, "both": {0, 3, 0, 5}} {
		for _, run := range []int{2, 8, 4096} {
			synctest.Test(t, func(t *testing.T) {
				l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 12, Epoch: bubbleEpoch}
				c := cachedAt(t, uid.Options{Layout: l, RunLength: run, SeqStart: 1}, uid.NewTestClock())
				defer c.Close()
				var all [4][]uid.ID
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
				ids := slices.Concat(all[:]...)
				slices.Sort(ids)
				first := c.Parse(ids[0])
				for i, id := range ids {
					if p := c.Parse(id); (p.Tick-first.Tick)*4096+p.Seq-first.Seq != int64(i) {
						t.Fatalf("%s, runs of %d: the %dth id is %+v, the first %+v: one came twice or was left out", name, run, i, p, first)
					}
				}
			})
		}
	}
}

// TestFillFromTheMiddle fills from lanes that begin their runs in the middle, as a new generator's do: with genes, too, one id follows the other.
func TestFillFromTheMiddle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		middle := 0
		for range 8 {
			time.Sleep(time.Second)
			c := cachedAt(t, uid.Options{RunLength: 256, Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 12, GeneBits: 5, Epoch: bubbleEpoch}}, uid.NewTestClock())
			ids := make([]uid.ID, 1000)
			if _, err := c.FillGene(t.Context(), 7, ids); err != nil {
				t.Fatal(err)
			}
			first := c.Parse(ids[0])
			if first.Seq%256 != 0 {
				middle++
			}
			for i, id := range ids {
				if p := c.Parse(id); p.Gene != 7 || p.Worker != 1 || (p.Tick-first.Tick)*4096+p.Seq-first.Seq != int64(i) {
					t.Fatalf("the %dth id is %+v, the first %+v", i, p, first)
				}
			}
			c.Close()
		}
		if middle == 0 {
			t.Error("every run was taken from its begin")
		}
	})
}
