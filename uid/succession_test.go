package uid_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// stoppable gives o a put function that stands still, and the padder with it, from stop until resume is called. Close waits for resume.
func stoppable(o *uid.Options) (stop, resume func()) {
	var stopped atomic.Bool
	standing := make(chan struct{})
	o.PutFunc = func(uid.ID) error {
		if stopped.Load() {
			<-standing
		}
		return nil
	}
	return func() { stopped.Store(true) }, func() { close(standing) }
}

// TestReplaceInTick replaces worker 1 by worker 0 when every run composed was handed out and the position is in a tick that was begun and lies
// ahead of the clock: only a new tick keeps the ids increasing. The padder stands still, because it would fill the ring and move on.
func TestReplaceInTick(t *testing.T) {
	t.Parallel()
	for _, run := range []int{1, 16} {
		t.Run(fmt.Sprintf("run=%d", run), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := &scriptedAssigner{worker: 1, from: time.Now(), until: time.Now().Add(10 * time.Minute)}
				o := uid.Options{Layout: bubbleLayout(), RunLength: run, BoostPower: uid.NoBoost, PaddingFactor: 100, SeqStart: 1}
				stop, resume := stoppable(&o)
				c, err := uid.NewCachedAt(t.Context(), a, &o, uid.NewTestClock())
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				defer resume()
				time.Sleep(4*time.Minute + 50*time.Second) // the keeper's time comes in ten seconds
				a.set(func(a *scriptedAssigner) {
					a.extend = assigner.ErrClaimLost
					a.worker, a.from, a.until = 0, time.Time{}, time.Time{}
				})
				synctest.Wait()
				stop()
				last := c.Parse(mustNext(t, c))
				synctest.Wait() // the padder has put one run in the place of the one taken: the position is a run into a tick
				for begin := last.Tick; last.Tick < begin+20 || c.Stats().Len > 0 || last.Seq != int64(run)-1; {
					p := c.Parse(mustNext(t, c))
					if p.ID <= last.ID || p.Tick > begin+40 {
						t.Fatalf("%+v came after %+v", p, last)
					}
					last = p
				}
				time.Sleep(12 * time.Second)
				if last.Worker != 1 || c.Stats().Worker != 0 {
					t.Fatalf("worker %d before, %d behind, want 1 and 0", last.Worker, c.Stats().Worker)
				}
				if p := c.Parse(mustNext(t, c)); p.Worker != 0 || p.Tick != last.Tick+1 || p.Seq != 0 {
					t.Errorf("%+v came after %+v, want the new worker's first id of the next tick", p, last)
				}
			})
		})
	}
}

// TestRebaseCarriesOver lets the padder begin new tenures while the lane has ids left, after every single id: each id is the next one to the
// last, none is left out and none comes twice.
func TestRebaseCarriesOver(t *testing.T) {
	t.Parallel()
	for _, gene := range []int{0, 3} {
		synctest.Test(t, func(t *testing.T) {
			l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 6, GeneBits: gene, Epoch: bubbleEpoch}
			c := cachedAt(t, uid.Options{Layout: l, RunLength: 16, SeqStart: 1}, uid.NewTestClock())
			defer c.Close()
			c.LimitTicks(20)
			first := c.Parse(mustNext(t, c))
			for i := int64(1); i < 64*200; i++ {
				synctest.Wait() // the padder looks if the ring is low
				p := c.Parse(mustNext(t, c))
				if at := (p.Tick-first.Tick)*64 + p.Seq - first.Seq; at != i {
					t.Fatalf("genes of %d bits: id %d is %+v, the %dth position behind the first", gene, i, p, at)
				}
			}
		})
	}
}

// TestRebaseOfUsedUp begins a tenure while a caller is between the add that found the lane's run used up and the lock: the trace of that add is
// no run to carry over.
func TestRebaseOfUsedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Options{RunLength: 16, SeqStart: 1}, uid.NewTestClock())
		defer c.Close()
		seen := map[uid.ID]bool{}
		for i := range 64 {
			id := mustNext(t, c)
			if seen[id] {
				t.Fatalf("the id %d came twice", id)
			}
			seen[id] = true
			if i%16 == 15 {
				c.Rebase()
			}
		}
	})
}
