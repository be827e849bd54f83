package uid_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestCloseDuringTraffic closes generators under load: every caller gets ErrClosed, no id comes
// twice, and no goroutine stays.
func TestCloseDuringTraffic(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		for _, o := range []uid.Both{{}, {Lanes: 8}, {RunLength: 1},
			{TakePolicy: uid.TakeWait, BoostPower: uid.NoBoost}} {
			synctest.Test(t, func(t *testing.T) { // a bubble fails if a goroutine is left
				o.Layout = bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 10,
					Tick: time.Millisecond, Epoch: bubbleEpoch}
				g := uid.Open(t, make, claimtest.Static(1), o, uid.NewTestClock())
				var wg sync.WaitGroup
				got := [4][]uid.ID{}
				for k := range got {
					wg.Go(func() {
						for len(got[k]) < 300_000/scale {
							id, err := g.Next(t.Context())
							if errors.Is(err, uid.ErrClosed) {
								return
							}
							if err != nil {
								t.Error(err)
								return
							}
							got[k] = append(got[k], id)
							if len(got[k])%1000 == 0 {
								runtime.Gosched()
							}
						}
					})
				}
				time.Sleep(2 * time.Millisecond)
				wg.Go(func() { g.Close() })
				if err := g.Close(); err != nil {
					t.Errorf("%s: Close() = %v", name, err)
				}
				wg.Wait()
				seen := map[uid.ID]bool{}
				for _, ids := range got {
					for _, id := range ids {
						if seen[id] {
							t.Fatalf("%s: the id %d was repeated", name, id)
						}
						seen[id] = true
					}
				}
			})
		}
	}
}

// TestCallsAfterClose checks every method.
func TestCallsAfterClose(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 32, WorkerBits: 14, SeqBits: 13, GeneBits: 4}
	for name, make := range kinds {
		for _, o := range []uid.Both{{Layout: l}, {Layout: l, Lanes: 4}, {Layout: l, RunLength: 1}} {
			g := uid.Open(t, make, claimtest.Static(1), o, uid.NewTestClock())
			id := mustNext(t, g)
			mustClose(t, g)
			for range 100 {
				if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrClosed) {
					t.Errorf("%s: Next() = %v, want ErrClosed", name, err)
				}
			}
			if n, err := g.Fill(t.Context(), []uid.ID{1, 2}); n != 0 || !errors.Is(err, uid.ErrClosed) {
				t.Errorf("%s: Fill() = %d, %v, want ErrClosed", name, n, err)
			}
			if _, err := g.NextGene(t.Context(), 1); !errors.Is(err, uid.ErrClosed) {
				t.Errorf("%s: NextGene() = %v, want ErrClosed", name, err)
			}
			if err := g.Stats().Err; !errors.Is(err, uid.ErrClosed) {
				t.Errorf("%s: Stats().Err = %v, want ErrClosed", name, err)
			}
			if g.Parse(id).ID != id {
				t.Errorf("%s: Parse fails after Close", name)
			}
			if err := g.Close(); err != nil {
				t.Errorf("%s: the second Close() = %v", name, err)
			}
		}
	}
}

// TestCancelledContext: a ctx that is over stops construction and waiting, and nothing else.
func TestCancelledContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, make := range kinds {
		if _, err := make(ctx, claimtest.Static(1), nil, uid.NewTestClock()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", name, err)
		}
		g := uid.Open(t, make, claimtest.Static(1), uid.Both{}, uid.NewTestClock())
		if _, err := g.Next(ctx); err != nil {
			t.Errorf("%s: Next does not have to wait, but gave %v", name, err)
		}
	}
}

// TestReleaseCoversTraffic closes generators under load: what Close gives back begins after every
// id that anyone got, also when a caller is composing ids itself at that moment.
func TestReleaseCoversTraffic(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		for _, o := range []uid.Both{{}, {Lanes: 8}, {RunLength: 1},
			{RunLength: 2, BoostPower: uid.NoBoost, Lanes: 4},
			{RunLength: 1, BoostPower: uid.NoBoost}} {
			o.Layout = bitsalloc.Layout{TimeBits: 50, WorkerBits: 4, SeqBits: 3, Tick: time.Millisecond}
			for range 40 / scale {
				a := &claimtest.Memory{From: time.Now().Add(-time.Hour), Length: 1000 * time.Hour}
				g := uid.Open(t, make, a, o, uid.NewTestClock())
				_, newest := uid.Takers(t, g, 4)
				time.Sleep(200 * time.Microsecond)
				mustClose(t, g)
				id, used := newest(), a.Calls(claimtest.OpRelease)[0].Asked
				if end := g.Parse(id).Time.Add(time.Millisecond); id != 0 && end.After(used) {
					t.Fatalf("%s, %+v: an id's tick ends at %v, but the window was given back from %v on",
						name, o, end, used)
				}
			}
		}
	}
}

// TestReleaseOfEmptyRing closes generators that handed out all they composed, at a tick's end and
// within a tick: what they give back begins after it.
func TestReleaseOfEmptyRing(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 8191, 8192} {
		synctest.Test(t, func(t *testing.T) {
			a := newPlace(time.Hour)
			c := uid.Open(t, uid.NewCachedAt, a, uid.Both{SeqStart: 1, MaxLead: time.Nanosecond},
				uid.NewTestClock())
			mustFill(t, c, make([]uid.ID, n))
			end := time.Now().Add(time.Second)
			mustClose(t, c)
			if used := a.Calls(claimtest.OpRelease)[0].Asked; !used.Equal(end) {
				t.Errorf("%d ids of the tick: released from %v on, want %v", n, used, end)
			}
		})
	}
}
