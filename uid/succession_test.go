package uid_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestReplaceInTick replaces worker 1 by worker 0 when the newest id handed out and the position
// are in one tick, which lies ahead of the clock: only a new tick keeps the ids increasing. The
// padder is stopped, because it would fill the ring and move on.
func TestReplaceInTick(t *testing.T) {
	t.Parallel()
	for _, run := range []int{1, 16} {
		t.Run(fmt.Sprintf("run=%d", run), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newPlace(10 * time.Minute)
				extend := a.slow()
				c := uid.Open(t, uid.NewCachedAt, a, uid.Both{RunLength: run, BoostPower: uid.NoBoost,
					PaddingFactor: 1, SeqStart: 1}, uid.NewTestClock())
				a.lose(0, time.Time{}, claimtest.Endless)
				c.StopPadder()
				last := c.Parse(mustNext(t, c))
				// The keeper extends at 300 at the latest.
				begin := last.Tick
				for ids := make([]uid.ID, 1000); last.Tick < begin+300; {
					n, err := c.Fill(t.Context(), ids)
					if err != nil || !slices.IsSorted(ids[:n]) || ids[0] <= last.ID {
						t.Fatalf("%d to %d came after %+v, %v", ids[0], ids[len(ids)-1], last, err)
					}
					last = c.Parse(ids[n-1])
				}
				for last.Tick < begin+320 || last.Seq != 4095 {
					p := c.Parse(mustNext(t, c))
					if p.ID <= last.ID || p.Tick > begin+340 {
						t.Fatalf("%+v came after %+v", p, last)
					}
					last = p
				}
				close(extend)
				synctest.Wait()
				if err := c.LatePad(); err != nil {
					t.Fatal(err)
				}
				if last.Worker != 1 || c.Stats().Worker != 0 {
					t.Fatalf("worker %d before, %d after, want 1 and 0", last.Worker, c.Stats().Worker)
				}
				if p := c.Parse(mustNext(t, c)); p.Worker != 0 || p.Tick != last.Tick+1 || p.Seq != 0 {
					t.Errorf("%+v came after %+v, want the new worker's first id of the next tick", p, last)
				}
			})
		})
	}
}
