package uid_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// callAndHealth looks at a generator's health, then calls it, and fails the test unless it is down
// exactly if the call, which may take as long as patience, gets no id.
func callAndHealth(t *testing.T, g uid.Generator, patience time.Duration) (uid.Health, error) {
	t.Helper()
	synctest.Wait()
	h := g.Stats().Health()
	ctx := within(t, patience)
	_, err := g.Next(ctx)
	if h.Status != uid.Down && errors.Is(err, uid.ErrLead) { // TakeReject does not wait for the next tick
		time.Sleep(patience)
		_, err = g.Next(t.Context())
	}
	if (h.Status == uid.Down) != (err != nil) {
		t.Fatalf("at %v: Health() = %+v, and Next() = %v", time.Now().UTC(), h, err)
	}
	return h, err
}

// TestHealthClockBack sets the clock back and lets it catch up. The generator is down while calls
// fail, or wait for longer than a tick, and looking at it counts no reject.
func TestHealthClockBack(t *testing.T) {
	t.Parallel()
	const back = 5 * time.Minute
	for _, x := range []struct {
		kind string
		o    uid.Both
		want error // while the clock is behind; nil: ids go on
	}{
		{"default", uid.Both{}, uid.ErrClockBack},
		{"default", uid.Both{Rollback: uid.RollbackWait(time.Minute)}, uid.ErrClockBack},
		{"default", uid.Both{Rollback: uid.RollbackWait(time.Hour)}, uid.ErrClockBack},
		{"default", uid.Both{Rollback: uid.RollbackHold(time.Minute)}, uid.ErrClockBack},
		{"default", uid.Both{Rollback: uid.RollbackHold(time.Hour)}, nil},
		{"cached", uid.Both{}, nil},
		{"cached", uid.Both{MaxLead: 20 * time.Second}, uid.ErrLead},
		{"cached", uid.Both{MaxLead: 20 * time.Second, TakePolicy: uid.TakeWait}, uid.ErrLead},
		{"cached", uid.Both{MaxLead: 20 * time.Second, TakePolicy: uid.TakeReject}, uid.ErrLead},
	} {
		bubble(t, x.kind, endless(), x.o, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			what := fmt.Sprint(x.kind, x.o.Rollback, ", MaxLead ", x.o.MaxLead, ", policy ", x.o.TakePolicy)
			callAndHealth(t, g, time.Second)
			clock.Step(-back)
			if c, ok := g.(*uid.Cached); ok { // what was composed ahead of the clock
				synctest.Wait()
				c.Empty()
			}
			down := 0
			stepped := time.Now()
			for range 600 {
				rejects := g.Stats().RejectsRollback
				for range 10 {
					g.Stats()
				}
				if got := g.Stats().RejectsRollback; got != rejects {
					t.Fatalf("%s: a check counted %d rejects", what, got-rejects)
				}
				err := g.Stats().Err
				// A second is what a call may wait for the next tick.
				if _, failed := callAndHealth(t, g, time.Second+time.Millisecond); failed != nil {
					down++
					if !errors.Is(err, x.want) {
						t.Fatalf("%s: Err is %v, want %v", what, err, x.want)
					}
				} else if past := time.Since(stepped); x.want != nil && past < back-65*time.Second {
					t.Fatalf("%s: an id %v after the step", what, past)
				}
				time.Sleep(700 * time.Millisecond)
			}
			if (down > 0) != (x.want != nil) {
				t.Errorf("%s: %d looks found it down, want some: %v", what, down, x.want != nil)
			}
			if h := g.Stats().Health(); h.Status != uid.Up {
				t.Errorf("%s: at last Health() = %+v", what, h)
			}
		})
	}
}

// TestHealthAtMaxLead takes bursts: at the bound a call waits for the next tick, which is no error.
func TestHealthAtMaxLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := cachedAt(t, uid.Both{MaxLead: 5 * time.Second, TakePolicy: uid.TakeReject}, uid.NewTestClock())
		for range 50 {
			if _, err := c.Fill(t.Context(), make([]uid.ID, 100_000)); err == nil {
				t.Fatal("a burst beyond MaxLead has no error")
			}
			synctest.Wait()
			if h := c.Stats().Health(); h.Status != uid.Up {
				t.Fatalf("at MaxLead Health() = %+v", h)
			}
			time.Sleep(300 * time.Millisecond)
		}
	})
}

// TestHealthNotGrown has an authority that answers, and does not move the window's end: that is a
// failure once the window is over, and none when it has grown after that.
func TestHealthNotGrown(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		a := grantsNothing(time.Minute)
		bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			for range 70 {
				h, _ := callAndHealth(t, g, time.Millisecond)
				if at := time.Since(bubbleStart); at > time.Minute+2*time.Second && h.Status != uid.Down {
					t.Fatalf("%s: after %v Health() = %+v", kind, at, h)
				}
				time.Sleep(time.Second)
			}
			s := g.Stats()
			if !errors.Is(s.Err, uid.ErrClaimExpired) || !errors.Is(s.ExtendErr, uid.ErrClaimExpired) ||
				s.ExtendFailures < 3 || s.Extends != 0 || s.FailingSince.IsZero() ||
				!s.LastExtended.Equal(bubbleStart) {
				t.Errorf("%s: a window that did not grow: %+v", kind, s)
			}
			before := len(extensions(a))
			time.Sleep(time.Hour)
			if n := len(extensions(a)) - before; n > 1000 {
				t.Errorf("%s: the authority was asked %d times in an hour", kind, n)
			}
			a.Set(func(m *claimtest.Memory) {
				m.Grant = func(time.Time) time.Time { return bubbleStart.Add(2 * time.Hour) }
			})
			time.Sleep(20 * time.Second)
			callAndHealth(t, g, time.Millisecond)
			if s := g.Stats(); s.Health().Status != uid.Up || s.Extends != 1 || s.ExtendErr != nil {
				t.Errorf("%s: the window has grown: %+v", kind, s)
			}
		})
	}
}

// TestHealthNotGrownBurst uses the same window up in a burst: callers wait for as long as an attempt
// may take, not to the window's end.
func TestHealthNotGrownBurst(t *testing.T) {
	t.Parallel()
	a := grantsNothing(10 * time.Minute)
	bubble(t, "cached", a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		ctx := within(t, 15*time.Minute)
		if _, err := g.Fill(ctx, make([]uid.ID, 6_000_000)); !errors.Is(err, uid.ErrClaimExpired) {
			t.Fatalf("Fill: %v, want ErrClaimExpired", err)
		}
		if took := time.Since(bubbleStart); took > 12*time.Second {
			t.Errorf("the callers waited for %v", took)
		}
		callAndHealth(t, g, time.Millisecond)
		if h := g.Stats().Health(); h.Status != uid.Down {
			t.Errorf("Health() = %+v", h)
		}
	})
}

// haltLines fails the test unless the log says as often as it should that ids stopped and came back.
func haltLines(t *testing.T, what string, log *logged, stopped, back int) {
	t.Helper()
	synctest.Wait()
	if s, b := log.of("ids have stopped"), log.of("ids are back"); s != stopped || b != back {
		t.Errorf("%s: %d lines that ids have stopped and %d that they are back, want %d and %d", what, s, b,
			stopped, back)
	}
}

// TestLogsOfBurst has a burst use a window up long before its end, while the authority is away.
func TestLogsOfBurst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		a := &claimtest.Memory{Length: 10 * time.Minute}
		g := uid.Open(t, uid.NewCachedAt, a, uid.Both{Logger: logger}, uid.NewTestClock())
		mustNext(t, g)
		a.Fail(errDown)
		ids := make([]uid.ID, 6_000_000)
		for range 3 {
			if _, err := g.Fill(t.Context(), ids); !errors.Is(err, uid.ErrClaimExpired) {
				t.Fatal(err)
			}
		}
		haltLines(t, "a burst", log, 1, 0)
		time.Sleep(20 * time.Minute)
		haltLines(t, "after the window", log, 1, 0)
		a.Fail(nil)
		time.Sleep(20 * time.Second)
		mustNext(t, g)
		haltLines(t, "the authority is back", log, 1, 1)
	})
}

// TestLogsOfExhausted uses the time bits up, and lets the clock of a Default go back into them.
func TestLogsOfExhausted(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 5, WorkerBits: 2, SeqBits: 4, Epoch: bubbleEpoch.AddDate(0, 0, 1).Add(-time.Second)}
	for kind := range kinds {
		logger, log := newLogged()
		bubble(t, kind, endless(), uid.Both{Layout: l, BoostPower: 1,
			Logger: logger}, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			for range 20 {
				callAndHealth(t, g, time.Millisecond)
				time.Sleep(time.Second)
			}
			time.Sleep(20 * time.Second)
			for range 10 {
				if _, err := callAndHealth(t, g, time.Millisecond); !errors.Is(err, uid.ErrExhausted) {
					t.Errorf("%s: Next: %v, want ErrExhausted", kind, err)
				}
			}
			haltLines(t, kind, log, 1, 0)
			if kind == "default" {
				clock.Step(-15 * time.Second)
				callAndHealth(t, g, time.Millisecond)
				haltLines(t, "the clock went back", log, 1, 1)
			}
		})
	}
}

// TestLogsOfClockBack sets the clock back for a minute, and then back and forth all the time.
func TestLogsOfClockBack(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	bubble(t, "default", endless(), uid.Both{Logger: logger},
		func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			mustNext(t, g)
			clock.Step(-time.Minute)
			for range 70 {
				callAndHealth(t, g, time.Second+time.Millisecond)
				time.Sleep(time.Second)
			}
			haltLines(t, "a minute back", log, 1, 1)
			for range 100 { // in ten seconds
				clock.Step(-10 * time.Second)
				_, _ = g.Next(t.Context())
				clock.Step(10 * time.Second)
				time.Sleep(100 * time.Millisecond)
				_, _ = g.Next(t.Context())
			}
			synctest.Wait()
			if n := log.of("ids have stopped"); n < 2 || n > 12 {
				t.Errorf("a clock that goes back and forth for 10 s had %d lines written", n)
			}
		})
}

// TestLogsOfMaxLead takes bursts at MaxLead, which waits for the next tick: no line.
func TestLogsOfMaxLead(t *testing.T) {
	t.Parallel()
	for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait, uid.TakeReject} {
		synctest.Test(t, func(t *testing.T) {
			logger, log := newLogged()
			c := cachedAt(t, uid.Both{MaxLead: 2 * time.Second, TakePolicy: policy, Logger: logger},
				uid.NewTestClock())
			for range 20 {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				_, _ = c.Fill(ctx, make([]uid.ID, 100_000))
				cancel()
				time.Sleep(time.Second)
			}
			haltLines(t, fmt.Sprint(policy), log, 0, 0)
		})
	}
}

// TestHealthOfSmallRing has a ring that holds a part of a tick, so that the window's last tick is
// composed from after the window: as long as MaxLag allows that, calls get ids of it.
func TestHealthOfSmallRing(t *testing.T) {
	o := uid.Both{BoostPower: uid.NoBoost, RunLength: 16, SeqStart: 1, MaxLag: 10 * time.Second}
	eachKind(t, o, nil, func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
		a.Fail(errDown, claimtest.OpExtend)
		time.Sleep(10*time.Minute - 2*time.Second)
		failed := 0
		for range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			_, _ = g.Fill(ctx, make([]uid.ID, 300))
			cancel()
			if _, err := callAndHealth(t, g, time.Millisecond); err != nil {
				failed++
			}
			time.Sleep(100 * time.Millisecond)
		}
		if failed == 0 {
			t.Error("no call failed after the window")
		}
	})
}

// TestErrWhenNothingIsLeft follows Stats.Err past the end of a window that cannot be extended. Ids
// that lanes or ring hold, and those of the window's last tick while MaxLag allows it, are there.
func TestErrWhenNothingIsLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newPlace(10 * time.Minute)
		a.Fail(errDown, claimtest.OpExtend)
		c := uid.Open(t, uid.NewCachedAt, a, uid.Both{SeqStart: 1, RunLength: 16}, uid.NewTestClock())
		c.StopPadder()
		c.Empty()
		time.Sleep(599 * time.Second)
		if err := c.LatePad(); err != nil { // 64 runs of the last tick
			t.Fatal(err)
		}
		c.Empty()
		time.Sleep(1200 * time.Millisecond)
		synctest.Wait()
		if err := c.Stats().Err; err != nil {
			t.Errorf("in the middle of the last tick, 1.2 s after its start: Err = %v", err)
		}
		mustFill(t, c, make([]uid.ID, 8192-64*16-1))
		if s := c.Stats(); s.Err != nil || s.Len != 0 {
			t.Errorf("with an id in a lane only: Err = %v, Len = %d", s.Err, s.Len)
		}
		mustNext(t, c)
		if err := c.Stats().Err; !errors.Is(err, uid.ErrClaimExpired) {
			t.Errorf("without any id: Err = %v, want ErrClaimExpired", err)
		}
	})
	synctest.Test(t, func(t *testing.T) { // the position stays in the window while the clock leaves it
		a := newPlace(10 * time.Minute)
		a.Fail(errDown, claimtest.OpExtend)
		c := uid.Open(t, uid.NewCachedAt, a, uid.Both{}, uid.NewTestClock())
		c.StopPadder()
		c.Empty()
		time.Sleep(time.Hour)
		if err := c.Stats().Err; !errors.Is(err, uid.ErrClaimExpired) {
			t.Errorf("long after the window: Err = %v, want ErrClaimExpired", err)
		}
		if _, err := c.Next(t.Context()); !errors.Is(err, uid.ErrClaimExpired) {
			t.Errorf("long after the window: %v, want ErrClaimExpired", err)
		}
	})
}
