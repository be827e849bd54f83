package uid_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

var errDown = errors.New("no route to host")

// TestRenewalAsks checks when a window is extended for the first time and how far.
func TestRenewalAsks(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for _, tc := range []struct {
		name        string
		from, until time.Duration
		take        time.Duration // when an id is taken; 0: never
		want        extension
	}{
		{"half of the window is over", -1, 10 * time.Minute, 0, extension{5 * time.Minute, 15 * time.Minute}},
		{"a window that began long ago", -30 * 24 * time.Hour, 10 * time.Minute, 0,
			extension{5 * time.Minute, 15 * time.Minute}},
		{"a window that begins hours ahead", 3 * time.Hour, 3*time.Hour + 10*time.Minute, 0,
			extension{3*time.Hour + 5*time.Minute, 3*time.Hour + 15*time.Minute}},
		{"a window without a whole tick", 5001 * ms, 5011 * ms, 0, extension{0, 8 * time.Second}},
		{"a tick that was begun", -1, 601 * time.Second, 300200 * ms, extension{300500 * ms, 902 * time.Second}},
	} {
		a := newMemory(tc.until - max(0, tc.from))
		a.From = bubbleStart.Add(tc.from)
		bubble(t, "default", a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			if tc.take > 0 {
				time.Sleep(tc.take)
				mustNext(t, g)
			}
			time.Sleep(tc.want.at + time.Minute - tc.take)
			got := extensions(a)
			if len(got) == 0 {
				t.Fatalf("%s: not extended, want it at %v", tc.name, tc.want.at)
			}
			// Up to an eighth of the window earlier, and by that much less far.
			early := tc.want.at - got[0].at
			if early < 0 || early > (tc.want.asked-tc.want.at)/8 ||
				(got[0].asked-tc.want.asked+early).Abs() > time.Second {
				t.Errorf("%s: asked at %v for %v, want at %v for %v, or somewhat earlier",
					tc.name, got[0].at, got[0].asked, tc.want.at, tc.want.asked)
			}
		})
	}
}

// TestRenewalInOutage looks at the attempts of an hour without the authority: about one a second for
// a minute, so that a generator follows a fail-over at once, and no more than one in five seconds in
// the end, at no fixed pace, so that a fleet does not come back as one. It is said once that they
// fail and once that they succeed again.
func TestRenewalInOutage(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a := newMemory(10 * time.Minute)
	a.Fail(errDown, claimtest.OpExtend)
	bubble(t, "default", a, uid.Both{Logger: logger}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		time.Sleep(65 * time.Minute)
		got := extensions(a)
		if len(got) < 60*60/15 || len(got) > 60*60/5+2*140+60/0.5+20 {
			t.Errorf("%d attempts in an hour, want about one in ten seconds", len(got))
		}
		var pauses, early, late []time.Duration
		for i := range got[1:] {
			pause := got[i+1].at - got[i].at
			pauses = append(pauses, pause)
			switch begun := got[i].at - got[0].at; {
			case begun < time.Minute:
				early = append(early, pause)
			case begun > 10*time.Minute:
				late = append(late, pause)
			}
		}
		if most := slices.Max(early); most > 1500*time.Millisecond {
			t.Errorf("an attempt of the first minute came %v after the last, want 1.5 s at the most", most)
		}
		if least := slices.Min(pauses); least < 50*time.Millisecond {
			t.Errorf("an attempt came %v after the last", least)
		}
		if least, most := slices.Min(late), slices.Max(late); least < 5*time.Second ||
			most > 15*time.Second || most-least < time.Second {
			t.Errorf("the attempts are %v to %v apart, want 5 s to 15 s, spread", least, most)
		}
		if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrClaimExpired) ||
			errors.Is(err, assigner.ErrClaimLost) {
			t.Errorf("Next() = %v, want ErrClaimExpired", err)
		}
		a.Fail(nil)
		time.Sleep(time.Hour)
		if failed, again := log.of("claim not extended"), log.of("claim extended again"); failed != 1 || again != 1 {
			t.Errorf("logged %d times that the claim is not extended and %d times that it is "+
				"again, want once each", failed, again)
		}
	})
}

// TestRenewalBehindOutage lets a burst follow an outage: what wakes the keeper counts again.
func TestRenewalBehindOutage(t *testing.T) {
	t.Parallel()
	a := newMemory(10 * time.Minute)
	a.Fail(errDown, claimtest.OpExtend)
	bubble(t, "cached", a, uid.Both{TakePolicy: uid.TakeReject},
		func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			time.Sleep(7 * time.Minute)
			a.Fail(nil)
			time.Sleep(time.Minute)
			for range 10_000 {
				if _, err := g.Fill(t.Context(), make([]uid.ID, 1024)); err != nil {
					t.Fatalf("a call met the window's end: %v", err)
				}
				synctest.Wait()
			}
		})
}

// TestRenewalAheadOfBurst borrows beyond the window: it is extended when half of it is used, not
// when its end is met.
func TestRenewalAheadOfBurst(t *testing.T) {
	t.Parallel()
	a := newMemory(10 * time.Minute)
	bubble(t, "cached", a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		for range 10_000 {
			mustFill(t, g, make([]uid.ID, 1024))
			synctest.Wait()
			if s := g.Stats(); s.WindowUntil.Sub(s.Position) < 4*time.Minute {
				t.Fatalf("the window ends %v after the position, want it extended when half of "+
					"its ten minutes were used", s.WindowUntil.Sub(s.Position))
			}
		}
	})
}

// TestRenewalOfNothing extends by an authority that always says yes and gives nothing: no more than
// a hundred attempts a second.
func TestRenewalOfNothing(t *testing.T) {
	t.Parallel()
	a := grantsNothing(time.Minute)
	bubble(t, "default", a, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
		time.Sleep(30 * time.Second)
		before := len(extensions(a))
		time.Sleep(time.Second)
		if n := len(extensions(a)) - before; n < 6 || n > 101 {
			t.Errorf("%d attempts in a second, want 6 to 101", n)
		}
	})
}

// TestRenewalOfLongWindow steps the clock ahead, a bit at a time, over half of a window of a
// hundred hours, and the authority does not tell the time: the keeper does not sleep through it.
func TestRenewalOfLongWindow(t *testing.T) {
	t.Parallel()
	a := newMemory(100 * time.Hour)
	a.Fail(errDown, claimtest.OpNow)
	bubble(t, "default", a, uid.Both{}, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
		synctest.Wait() // the keeper sleeps, for hours by what it knows
		for range 60 {
			clock.Step(50 * time.Minute)
			g.Stats() // reads the clock
		}
		time.Sleep(61 * time.Minute)
		if got := extensions(a); len(got) != 1 || got[0].asked < 150*time.Hour {
			t.Errorf("an hour after the steps: extended %v, want once", got)
		}
	})
}

// TestRenewalOfLost loses a claim while no other is to be had: the lost one is left alone, another
// is asked for at once and then again and again, also when the clock goes back.
func TestRenewalOfLost(t *testing.T) {
	t.Parallel()
	a := losing(10 * time.Minute)
	bubble(t, "default", a, uid.Both{Rollback: uid.RollbackHold(time.Hour)},
		func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			a.Fail(errDown, claimtest.OpAssign)
			time.Sleep(7 * time.Minute)
			assigns, extends := a.Calls(claimtest.OpAssign), extensions(a)
			if len(extends) != 1 || extends[0].at > 5*time.Minute || extends[0].at < 3*time.Minute {
				t.Fatalf("extended %v, want once, at 4 to 5 min: the claim is lost for good", extends)
			}
			if len(assigns) < 5 || assigns[1].At.Sub(bubbleStart) != extends[0].at {
				t.Errorf("assigned %v, want the second at %v and more after it", assigns, extends[0].at)
			}
			clock.Step(-6 * time.Minute)
			a.Set(func(m *claimtest.Memory) { m.Length = time.Hour })
			a.Fail(nil, claimtest.OpAssign)
			time.Sleep(20 * time.Second)
			if w := g.Stats().Worker; w == 0 {
				t.Error("the clock went back and no other worker id is asked for")
			}
		})
}

// TestRenewalGivenUp loses a claim where no other worker id is left: the log says when ids stop.
func TestRenewalGivenUp(t *testing.T) {
	t.Parallel()
	a := losing(10 * time.Minute)
	logger, logs := newLogged()
	const stopped = "ids have stopped"
	bubble(t, "default", a, uid.Both{Logger: logger},
		func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			a.Fail(assigner.ErrWorkersExhausted, claimtest.OpAssign)
			time.Sleep(10*time.Minute - time.Second)
			if logs.of("claim lost") != 1 || logs.of(stopped) != 0 {
				t.Errorf("the log is %v, want the lost claim, and not yet that ids have stopped",
					logs.counts)
			}
			time.Sleep(20 * time.Second) // the longest pause between two attempts, and more
			if logs.of(stopped) != 1 {
				t.Errorf("the log is %v, want that ids have stopped", logs.counts)
			}
			time.Sleep(time.Minute)
			if _, err := g.Next(t.Context()); !errors.Is(err, assigner.ErrClaimLost) ||
				errors.Is(err, uid.ErrClaimExpired) {
				t.Errorf("Next() = %v, want ErrClaimLost", err)
			}
			before := clock.Reads.Load()
			time.Sleep(10 * time.Hour)
			if n := clock.Reads.Load() - before; n > 10*7200 { // an attempt each five seconds at most
				t.Errorf("the clock was read %d times in ten hours", n)
			}
			if logs.of(stopped) != 1 {
				t.Errorf("the log is %v, want once that ids have stopped", logs.counts)
			}
			if n, extends := g.Stats().Claims, extensions(a); n != 1 || len(extends) != 1 {
				t.Errorf("assigned %d times and extended %d times, want once each", n, len(extends))
			}
		})
}

// TestRenewalOfShortWindows has windows of half a second, which an outage of a minute costs, and an
// authority that gives a window away when it has ended. Once the authority is back, the generator
// has a window in time, again and again.
func TestRenewalOfShortWindows(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		a := newMemory(500 * time.Millisecond)
		a.Before = before(claimtest.OpExtend, func(context.Context) error {
			all := a.Windows().All()
			if newest := all[len(all)-1]; newest.Until.Before(time.Now()) {
				a.Lose(newest.Worker)
			}
			return nil
		})
		l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 10, SeqBits: 5, Tick: 10 * time.Millisecond, Epoch: bubbleEpoch}
		bubble(t, kind, a, uid.Both{Layout: l, Rollback: uid.RollbackHold(time.Minute)},
			func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				mustNext(t, g)
				a.Fail(errDown)
				time.Sleep(time.Minute)
				a.Fail(nil)
				time.Sleep(keeperPause)
				for range 1000 {
					nextIn(t, g, 0, 0, kind+" has a window again")
					time.Sleep(30 * time.Millisecond)
				}
				if n := len(a.Calls(claimtest.OpAssign)); n > 8 {
					t.Errorf("%s: %d worker ids were claimed, want one or two after the outage", kind, n)
				}
			})
	}
}

// keeperPause is longer than the keeper pauses between two attempts.
const keeperPause = 16 * time.Second

// TestStormOfClaims hands out windows of a second that cannot be extended to a generator that runs
// ahead of the clock: new claims are made at a growing pace, and at once again when one has lasted.
func TestStormOfClaims(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for every := int64(1); every <= 2; every++ { // each extension is lost, or each second one
			stormOfClaims(t, kind, every)
		}
	}
}

func stormOfClaims(t *testing.T, kind string, every int64) {
	var extends atomic.Int64
	a := newMemory(time.Second)
	a.Before = func(ctx context.Context, c claimtest.Call) error {
		switch {
		case c.Op == claimtest.OpExtend && extends.Add(1)%every == 0:
			return assigner.ErrClaimLost
		case extends.Load() > 1000:
			return hangs(ctx) // or the bubble's time stands still for ever
		}
		return nil
	}
	bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		stop := time.Now().Add(20 * time.Second)
		for ids := make([]uid.ID, 10_000); time.Now().Before(stop); {
			a.Set(func(m *claimtest.Memory) { m.From = time.Now() })
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_, _ = g.Fill(ctx, ids)
			cancel()
			time.Sleep(time.Millisecond)
		}
		if n := len(a.Calls(claimtest.OpAssign)); n < 3 || n > 30 {
			t.Errorf("%s: %d worker ids were claimed in 20 s, want a few", kind, n)
		}
		a.Set(func(m *claimtest.Memory) { m.Before, m.From, m.Length = nil, time.Now(), time.Minute })
		time.Sleep(time.Minute)
		mustNext(t, g)
	})
}

// TestExtensionOfNothing has callers wait for a window that an authority says it extends and does
// not: it is not asked at the pace of the callers. They get an error when the window is over.
func TestExtensionOfNothing(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		a := grantsNothing(time.Second)
		bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			ctx := within(t, 10*time.Second)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					ids := make([]uid.ID, 1_000_000)
					for ctx.Err() == nil {
						if _, err := g.Fill(ctx, ids); !errors.Is(err, uid.ErrClaimExpired) {
							t.Errorf("%s: Fill: %v, want ErrClaimExpired", kind, err)
							return
						}
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
			wg.Wait()
			if n := len(extensions(a)); n < 6 || n > 100 {
				t.Errorf("%s: asked %d times in 10 s, want ten times a second at the most", kind, n)
			}
		})
	}
}

// TestRenewalOfWindowAhead replaces a lost claim by one that begins hours ahead of the clock and has no
// whole tick: it is extended at once, and ids go on.
func TestRenewalOfWindowAhead(t *testing.T) {
	layout := bitsalloc.Layout{TimeBits: 31, WorkerBits: 10, SeqBits: 20, Tick: time.Minute,
		Epoch: time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC)}
	eachKind(t, uid.Both{Layout: layout}, nil, func(t *testing.T, g uid.Generator, a *place, _ *uid.TestClock) {
		mustNext(t, g)
		from := time.Now().Add(2*time.Hour + 30*time.Second)
		a.lose(2, from, time.Minute)
		time.Sleep(9 * time.Minute)
		h := g.Stats().Health()
		id, err := g.Next(within(t, time.Second))
		if p := g.Parse(id); err != nil || p.Worker != 2 || p.Time.Before(from) {
			t.Errorf("Next() = %+v, %v, Health() = %+v", p, err, h)
		}
	})
}

// TestRenewalBehindGap claims a window that begins where the reach of the authority ends, as a process
// does that has found out that its store went back. The room grows with the clock: it is asked for
// when half of what there is has passed, not each second, whether ids are taken or not.
func TestRenewalBehindGap(t *testing.T) {
	t.Parallel()
	const window = 20 * time.Minute
	for kind := range kinds {
		for _, busy := range []bool{false, true} {
			a := withReach(2 * time.Second)
			a.From, a.Span = bubbleStart.Add(24*time.Hour-2*time.Second), window
			bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				for range 2 * window / time.Second {
					if time.Sleep(time.Second); busy {
						mustNext(t, g)
					}
				}
				all := extensions(a)
				if n := len(all); n < 15 || n > 60 {
					t.Errorf("%s, busy %v: asked %d times in two windows, want half of what is left each time",
						kind, busy, n)
				}
				for i := range all[2:] { // the first one finds no room yet
					if pause := all[i+2].at - all[i+1].at; pause < time.Second {
						t.Errorf("%s, busy %v: asked again after %v, want a second at the least", kind, busy, pause)
					}
				}
				if left := g.Stats().WindowUntil.Sub(a.From); left < window/2 {
					t.Errorf("%s, busy %v: the window is %v long after two of them", kind, busy, left)
				}
			})
		}
	}
}
