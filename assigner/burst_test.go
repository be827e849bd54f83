package assigner_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/uid"
)

// silent returns a logger that fails the test when something is wrong.
func silent(t *testing.T) *slog.Logger { return slog.New(noise{slog.DiscardHandler, t}) }

type noise struct {
	slog.Handler
	t *testing.T
}

func (noise) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

func (n noise) Handle(_ context.Context, r slog.Record) error {
	n.t.Errorf("logged: %s", r.Message)
	return nil
}

// TestBurstAtLead: generators that are asked for more than the lead permits wait for the clock:
// no id is further ahead than the lead, every id of every tick is used, and nobody is asked again
// and again in between.
func TestBurstAtLead(t *testing.T) {
	t.Parallel()
	const callers, each, lead = 8, 20_000, 3 * time.Second
	for kind := range generators {
		for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait} {
			synctest.Test(t, func(t *testing.T) {
				var extends atomic.Int64
				a := winlog.Watch(assigner.InNewProcess(assigner.PodNamed("web-7", nil)),
					func(winlog.Window) { extends.Add(1) })
				g, err := generators[kind](t.Context(), a, uid.DefaultOptions{
					Layout: bubble(), TakePolicy: policy, Rollback: uid.RollbackHold(time.Hour),
					Logger: silent(t)})
				if err != nil {
					t.Fatal(err)
				}
				defer g.Close()
				begin := time.Now()
				var wg sync.WaitGroup
				for range callers {
					wg.Go(func() {
						for range each {
							id, err := g.Next(t.Context())
							if err != nil {
								t.Error(err)
								return
							}
							end := g.Parse(id).Time.Add(time.Second)
							if ahead := time.Until(end); ahead > lead {
								t.Errorf("%s: an id ends %v ahead of the clock, want at most %v",
									kind, ahead, lead)
								return
							}
						}
					})
				}
				wg.Wait()
				took, least := time.Since(begin), time.Duration(callers*each/8192-3)*time.Second
				if took < least || took > least+6*time.Second {
					t.Errorf("%s, policy %v: %d ids took %v, want about %v, all of the ticks' ids",
						kind, policy, callers*each, took, least)
				}
				if n, most := extends.Load(), int64(took/time.Second)*2+10; n > most {
					t.Errorf("%s, policy %v: %d windows in %v, want at most %d", kind, policy, n,
						took, most)
				}
				waits := callers * (int64(took/time.Second) + 5) * 3
				if n, most := g.Stats().Waits, waits; n > most {
					t.Errorf("%s, policy %v: %d waits of %d callers in %v, want at most %d", kind,
						policy, n, callers, took, most)
				}
			})
		}
	}
}

// TestRejectAtLead: with TakePolicy Reject a burst that reaches the lead fails at once, and the ids
// go on with the clock.
func TestRejectAtLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := assigner.InNewProcess(assigner.PodNamed("web-7", nil))
		g, err := uid.NewCached(t.Context(), a,
			&uid.Options{Layout: bubble(), TakePolicy: uid.TakeReject, Logger: silent(t)})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		ids := make([]uid.ID, 100_000)
		if n, err := g.Fill(t.Context(), ids); !errors.Is(err, uid.ErrEmpty) || n > 4*8192 {
			t.Errorf("Fill = %d, %v, want ErrEmpty after some ticks' ids", n, err)
		}
		time.Sleep(1100 * time.Millisecond)
		if n, err := g.Fill(t.Context(), ids[:8192]); n == 0 {
			t.Errorf("Fill a second later = %d, %v, want some ids", n, err)
		}
	})
}

// TestQuietAtLead: a service that takes an id now and then for a day gets it at once each time, and
// its ids lose the lead and carry the current time.
func TestQuietAtLead(t *testing.T) {
	t.Parallel()
	for kind := range generators {
		synctest.Test(t, func(t *testing.T) {
			var extends atomic.Int64
			a := winlog.Watch(assigner.InNewProcess(assigner.PodNamed("web-7", nil)),
				func(winlog.Window) { extends.Add(1) })
			g, err := generators[kind](t.Context(), a, uid.DefaultOptions{
				Layout: bubble(), Rollback: uid.RollbackHold(time.Hour), Logger: silent(t)})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			const hours = 6
			for i := range hours * 600 {
				begin := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				id, err := g.Next(ctx)
				cancel()
				if took := time.Since(begin); err != nil || took > 0 {
					t.Fatalf("%s: Next = %v after %v, want an id at once", kind, err, took)
				}
				off := g.Parse(id).Time.Sub(begin)
				least, most := -3*time.Second, time.Second
				if i == 0 {
					least, most = time.Second, 3*time.Second
				}
				if off < least || off > most {
					t.Fatalf("%s: id %d is %v ahead, want %v to %v", kind, i, off, least, most)
				}
				time.Sleep(6 * time.Second)
			}
			if n := extends.Load(); n > hours*3600*2 {
				t.Errorf("%s: %d windows in %d hours, want about one a second", kind, n, hours)
			}
		})
	}
}
