package uid_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// TestGene checks that genes land where they belong, that ids of all genes are distinct, and that
// keyless ids spread.
func TestGene(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 32, WorkerBits: 14, SeqBits: 13, GeneBits: 4}
	for name, make := range kinds {
		for _, lanes := range []int{1, 4} {
			g := uid.Open(t, make, assignertest.Static(1), uid.Options{Layout: l, Lanes: lanes}, uid.NewTestClock())
			seen, keyless := map[uid.ID]bool{}, map[int64]int{}
			add := func(id uid.ID, err error, key int64) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				// Without its gene, too, an id is one of its kind: two keys never share a (tick, seq).
				if base := id &^ 15; seen[base] {
					t.Fatalf("%s: (tick, seq) of %d came twice", name, id)
				} else {
					seen[base] = true
				}
				if key >= -100 && int64(id)&15 != key&15 {
					t.Fatalf("%s: id %d has gene %d, want %d", name, id, int64(id)&15, key&15)
				}
			}
			for key := int64(-50); key < 50; key++ {
				id, err := g.NextGene(t.Context(), key)
				add(id, err, key)
				id, err = g.Next(t.Context())
				add(id, err, -1000)
				keyless[g.Parse(id).Gene]++
			}
			if len(keyless) < 8 {
				t.Errorf("%s: keyless ids have the genes %v, want them spread", name, keyless)
			}
			ids := [300]uid.ID{}
			filler := g.(interface {
				FillGene(context.Context, int64, []uid.ID) (int, error)
			})
			if n, err := filler.FillGene(t.Context(), -3, ids[:]); n != len(ids) || err != nil {
				t.Fatalf("FillGene() = %d, %v", n, err)
			}
			for _, id := range ids {
				add(id, nil, -3)
			}
		}
		g := uid.Open(t, make, assignertest.Static(1), uid.Options{}, uid.NewTestClock())
		if _, err := g.NextGene(t.Context(), 1); !errors.Is(err, uid.ErrNoGene) {
			t.Errorf("%s: NextGene without GeneBits = %v, want ErrNoGene", name, err)
		}
	}
}

// TestFillWhileIdsAreThere takes ids at the bound from several goroutines. Time stands still, so
// once a call has failed for want of ids there are none: no later call may find one.
func TestFillWhileIdsAreThere(t *testing.T) {
	t.Parallel()
	rounds := 3000 / scale
	if testing.Short() {
		rounds /= 5
	}
	for _, run := range []int{4, 64} {
		synctest.Test(t, func(t *testing.T) {
			l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 8, Epoch: bubbleEpoch}
			o := uid.Options{Layout: l, RunLength: run, SeqStart: 1, MaxLead: time.Nanosecond,
				TakePolicy: uid.TakeReject, BoostPower: uid.NoBoost}
			c := cachedAt(t, o, uid.NewTestClock())
			for range rounds {
				var failed atomic.Bool
				var got, lied atomic.Int64
				var wg sync.WaitGroup
				for k := range 4 {
					wg.Go(func() {
						ids := make([]uid.ID, 1+3*k)
						for fails := 0; fails < 3; {
							none := failed.Load()
							n, err := c.Fill(t.Context(), ids)
							got.Add(int64(n))
							if none && n > 0 {
								lied.Add(1)
							}
							if err != nil {
								failed.Store(true)
								fails++
							}
						}
					})
				}
				wg.Wait()
				if lied.Load() > 0 {
					t.Fatalf("runs of %d: %d calls got ids after another had failed for want of them", run, lied.Load())
				}
				time.Sleep(time.Second)
				synctest.Wait()
			}
		})
	}
}

// TestFillTakesAllThatIsThere has goroutines that wait share exactly the ids that a tick has:
// nobody waits for the next one.
func TestFillTakesAllThatIsThere(t *testing.T) {
	t.Parallel()
	rounds := 2000 / scale
	if testing.Short() {
		rounds /= 5
	}
	for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait} {
		synctest.Test(t, func(t *testing.T) {
			l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 8, Epoch: bubbleEpoch}
			o := uid.Options{Layout: l, RunLength: 16, SeqStart: 1, MaxLead: time.Nanosecond,
				TakePolicy: policy, BoostPower: uid.NoBoost}
			c := cachedAt(t, o, uid.NewTestClock())
			for range rounds {
				start, issued := time.Now(), c.Stats().Issued
				var wg sync.WaitGroup
				for range 4 {
					wg.Go(func() {
						for range 8 {
							if _, err := c.Fill(t.Context(), make([]uid.ID, 7)); err != nil {
								t.Error(err)
							}
							if _, err := c.Next(t.Context()); err != nil {
								t.Error(err)
							}
						}
					})
				}
				wg.Wait()
				// A caller that is late at a run's change skips an id, which another one lacks then.
				skipped := c.Stats().Issued - issued - 4*8*8
				if took := time.Since(start); took != 0 && skipped == 0 {
					t.Fatalf("policy %d: callers waited %v although the tick had an id for each", policy, took)
				}
				time.Sleep(time.Second)
				synctest.Wait()
			}
		})
	}
}
