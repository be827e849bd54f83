package uid_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestGene checks that genes land where they belong, that ids of all genes are distinct, and that
// keyless ids spread.
func TestGene(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 32, WorkerBits: 14, SeqBits: 13, GeneBits: 4}
	for name, make := range kinds {
		for _, lanes := range []int{1, 4} {
			g := uid.Open(t, make, claimtest.Static(1), uid.Both{Layout: l, Lanes: lanes}, uid.NewTestClock())
			seen, keyless := map[uid.ID]bool{}, map[int64]int{}
			add := func(id uid.ID, err error, key int64) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
				// Without its gene, too, an id is one of its kind: two keys never share a (tick, seq).
				if base := id &^ 15; seen[base] {
					t.Fatalf("%s: (tick, seq) of %d was repeated", name, id)
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
		g := uid.Open(t, make, claimtest.Static(1), uid.Both{}, uid.NewTestClock())
		if _, err := g.NextGene(t.Context(), 1); !errors.Is(err, uid.ErrNoGene) {
			t.Errorf("%s: NextGene without GeneBits = %v, want ErrNoGene", name, err)
		}
		if n, err := g.FillGene(t.Context(), 1, []uid.ID{0, 0, 0}); n != 0 || !errors.Is(err, uid.ErrNoGene) {
			t.Errorf("%s: FillGene without GeneBits = %d, %v, want ErrNoGene", name, n, err)
		}
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
			o := uid.Both{Layout: l, RunLength: 16, SeqStart: 1, MaxLead: time.Nanosecond,
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

// TestFillLooksAgain has a call find neither lane nor ring with an id, and others compose while it
// looks at the bound: it takes what they left, in the ring or in the lane. When that is used up it
// looks at the bound anew, and does not fail for what the bound was before.
func TestFillLooksAgain(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		run  int
		next bool // another caller takes an id, so that the rest of its run is in the lane
		ids  int
		want int // fewer: then the bound is met
	}{{"ring", 64, false, 513, 512}, {"lane", 256, true, 511, 510}, {"part", 256, true, 300, 300}} {
		synctest.Test(t, func(t *testing.T) {
			l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 8, Epoch: bubbleEpoch,
				Tick: 100 * time.Millisecond}
			clock := uid.NewTestClock()
			var c *uid.Cached
			looks := 0
			var busy, on bool
			clock.OnRead = func() {
				if busy || !on || looks == 2 {
					return
				}
				busy, looks = true, looks+1

				clock.Step(100 * time.Millisecond) // opens a tick
				if err := c.LatePad(); err != nil && !errors.Is(err, uid.ErrLead) {
					t.Error(err)
				}
				if tc.next {
					mustNext(t, c)
				}
				busy = false
			}
			c = cachedAt(t, uid.Both{Layout: l, RunLength: tc.run, SeqStart: 1, MaxLead: time.Nanosecond,
				TakePolicy: uid.TakeReject, BoostPower: uid.NoBoost}, clock)
			defer c.Close()
			c.StopPadder()
			if _, err := c.Fill(t.Context(), make([]uid.ID, 256)); err != nil {
				t.Fatal(err)
			}
			on = true
			n, err := c.Fill(t.Context(), make([]uid.ID, tc.ids))
			on = false
			if n != tc.want || errors.Is(err, uid.ErrLead) != (tc.want < tc.ids) || looks != 2 {
				t.Errorf("%s: Fill() of %d ids = %d, %v after two ticks opened, want %d ids", tc.name,
					tc.ids, n, err, tc.want)
			}
		})
	}
}

// TestFillGenes gives ids that are not made for a key the genes of their sequence numbers.
func TestFillGenes(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 8, GeneBits: 3}
	for name, make := range kinds {
		g, err := make(t.Context(), claimtest.Static(1), &uid.Both{Layout: l, RunLength: 16},
			uid.NewTestClock())
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		var ids [100]uid.ID
		if n, err := g.Fill(t.Context(), ids[:]); n != len(ids) || err != nil {
			t.Fatalf("%s: Fill() = %d, %v", name, n, err)
		}
		for i, id := range ids {
			if p := g.Parse(id); p.Gene != p.Seq&7 || i > 0 && id <= ids[i-1] {
				t.Errorf("%s: got %+v after %d, want the gene %d", name, p, ids[max(0, i-1)], p.Seq&7)
			}
		}
	}
}

// TestFillLogsStop uses up the time bits of a generator that has no keeper: the call that finds no
// id has the log say so.
func TestFillLogsStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		l := bitsalloc.Layout{TimeBits: 2, WorkerBits: 2, SeqBits: 6, Epoch: time.Now()}
		c := cachedAt(t, uid.Both{Layout: l, SeqStart: 1, Logger: logger}, uid.NewTestClock())
		defer c.Close()
		for range 2 {
			if _, err := c.Fill(t.Context(), make([]uid.ID, 4*64+1)); !errors.Is(err, uid.ErrExhausted) {
				t.Errorf("Fill() = %v, want ErrExhausted", err)
			}
			synctest.Wait()
			haltLines(t, "the time bits are used up", log, 1, 0)
		}
	})
}

// TestFillTakesNoMoreRuns counts the runs that a call takes: as many as it needs.
func TestFillTakesNoMoreRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for want, runs := range map[int]int64{1: 1, 16: 1, 17: 2, 32: 2, 33: 3, 256: 16, 257: 17} {
			c := cachedAt(t, uid.Both{RunLength: 16, SeqStart: 1}, uid.NewTestClock())
			if _, err := c.Fill(t.Context(), make([]uid.ID, want)); err != nil {
				t.Fatal(err)
			}
			if s := c.Stats(); s.RunsTaken != runs || s.Issued != int64(want) {
				t.Errorf("%d ids took %d runs and %d ids, want %d runs", want, s.RunsTaken, s.Issued, runs)
			}
			c.Close()
		}
	})
}
