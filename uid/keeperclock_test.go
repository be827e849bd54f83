package uid_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestHangingClock has a clock jump and an authority that does not tell the time: windows are
// extended all the same, without delay.
func TestHangingClock(t *testing.T) {
	t.Parallel()
	var hang atomic.Bool
	a := newMemory(10 * time.Minute)
	a.Before = before(claimtest.OpNow, func(ctx context.Context) error {
		if hang.Load() {
			return hangs(ctx)
		}
		return nil
	})
	bubble(t, "cached", a, uid.Both{TakePolicy: uid.TakeReject},
		func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			time.Sleep(time.Second)
			hang.Store(true)
			clock.Step(5 * time.Hour)
			time.Sleep(time.Second) // the jump is held, and the authority asked
			synctest.Wait()
			failed := 0
			for range 1200 {
				// A second each: a window every ten minutes.
				if _, err := g.Fill(t.Context(), make([]uid.ID, 8192)); err != nil {
					failed++
				}
				synctest.Wait()
			}
			if failed > 0 {
				t.Errorf("%d of 1200 calls failed while the authority hung over the time", failed)
			}
			if n := len(extensions(a)); n < 2 {
				t.Errorf("extended %d times, want twice at the least", n)
			}
		})
}

// TestClockJump sets the clock ahead by years for a moment: the position stays. A jump that the
// authority confirms, or that lasts, is followed.
func TestClockJump(t *testing.T) {
	const years = 3 * 365 * 24 * time.Hour
	eachKind(t, uid.Both{Rollback: uid.RollbackHold(time.Minute)},
		func(a *place) { a.From, a.Length = time.Time{}, claimtest.Endless },
		func(t *testing.T, g uid.Generator, _ *place, clock *uid.TestClock) {
			mustNext(t, g)
			clock.Step(years)
			for range 60 {
				time.Sleep(time.Second)
				if p := g.Parse(mustNext(t, g)); time.Since(p.Time) > 2*time.Second ||
					time.Until(p.Time) > time.Second {
					t.Fatalf("while the jump is held: %+v at %v", p, time.Now())
				}
				if held := g.Stats().ClockHeld; held != years {
					t.Fatalf("Stats().ClockHeld = %v, want %v", held, years)
				}
			}
			clock.Step(-years)
			time.Sleep(time.Second)
			if p := g.Parse(mustNext(t, g)); time.Since(p.Time) > 2*time.Second || g.Stats().ClockHeld != 0 {
				t.Fatalf("after the jump went back: %+v, held %v", p, g.Stats().ClockHeld)
			}
			clock.Step(years)
			for range 11 * 60 {
				time.Sleep(time.Second)
				mustNext(t, g)
			}
			if p := g.Parse(mustNext(t, g)); clock.Now().Sub(p.Time) > 2*time.Second {
				t.Errorf("a jump that lasts: %+v, want %v", p, clock.Now())
			}
		})
}

// tellsTheTime makes claims that have no end, of an authority that can be asked for the time.
func tellsTheTime(a *place) {
	a.From, a.Length, a.TellTime = time.Time{}, claimtest.Endless, true
}

func TestClockJumpConfirmed(t *testing.T) {
	const hours = 5 * time.Hour
	eachKind(t, uid.Both{}, tellsTheTime, func(t *testing.T, g uid.Generator, a *place, clock *uid.TestClock) {
		mustNext(t, g)
		a.Step(hours)
		clock.Step(hours)
		time.Sleep(time.Second)
		mustNext(t, g)
		time.Sleep(3 * time.Second)
		if p := g.Parse(mustNext(t, g)); clock.Now().Sub(p.Time) > 2*time.Second || g.Stats().ClockHeld != 0 {
			t.Errorf("after the authority confirmed: %+v at %v, held %v", p, clock.Now(), g.Stats().ClockHeld)
		}
	})
}

// TestCachedClockBack sets the clock back by every size: nothing happens but a larger lead.
func TestCachedClockBack(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{time.Millisecond, time.Second, time.Hour, 20 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			clock := uid.NewTestClock()
			c := cachedAt(t, uid.Both{}, clock)
			time.Sleep(10 * time.Minute)
			last := mustNext(t, c)
			clock.Step(-back)
			for range 200_000 {
				id := mustNext(t, c)
				if id <= last {
					t.Fatalf("back by %v: %d came after %d", back, id, last)
				}
				last = id
			}
			if lead := c.Stats().Lead; lead < back {
				t.Errorf("Stats().Lead = %v, want at least %v", lead, back)
			}
		})
	}
}

// TestClockJumpsDuringAssign has an authority be asked for so long that the clock is set meanwhile.
func TestClockJumpsDuringAssign(t *testing.T) {
	t.Parallel()
	for name, make := range kinds {
		clock := uid.NewTestClock()
		a := &claimtest.Memory{Length: claimtest.Endless,
			Before: before(claimtest.OpAssign, func(context.Context) error {
				clock.Step(3 * time.Hour)
				return nil
			})}
		g := uid.Open(t, make, a, uid.Both{}, clock)
		mustNext(t, g)
		if held := g.Stats().ClockHeld; held.Round(time.Second) != 3*time.Hour {
			t.Errorf("%s: Stats().ClockHeld = %v, want 3 h", name, held)
		}
	}
}

// TestClockJumpDisputed lets the authority disagree with a clock that jumped: the jump stays held.
// When the authority comes to agree, the keeper hears of it soon, and the next jump is held as long
// as the first would have been.
func TestClockJumpDisputed(t *testing.T) {
	const hours = 5 * time.Hour
	eachKind(t, uid.Both{}, tellsTheTime, func(t *testing.T, g uid.Generator, a *place, clock *uid.TestClock) {
		hold := func(d time.Duration) {
			t.Helper()
			for range int(d / time.Second) {
				time.Sleep(time.Second)
				mustNext(t, g)
				if held := g.Stats().ClockHeld; held != hours {
					t.Fatalf("Stats().ClockHeld = %v, want %v", held, hours)
				}
			}
		}
		mustNext(t, g)
		clock.Step(hours)
		hold(3 * time.Minute)
		a.Step(hours)
		for range 25 {
			time.Sleep(time.Second)
			mustNext(t, g)
		}
		if held := g.Stats().ClockHeld; held != 0 {
			t.Fatalf("25 s after the authority agreed the jump is held still: %v", held)
		}
		time.Sleep(5 * time.Minute)
		mustNext(t, g)
		a.Step(-30 * 365 * 24 * time.Hour)
		clock.Step(hours)
		hold(9 * time.Minute)
	})
}

// narrow is a layout of which a burst uses up ten minutes in a moment.
var narrow = bitsalloc.Layout{TimeBits: 34, WorkerBits: 20, SeqBits: 7, Epoch: bubbleEpoch}

// stuckMemory returns an authority whose windows of ten minutes do not grow while stuck is set.
func stuckMemory() (a *claimtest.Memory, stuck *atomic.Bool) {
	a, stuck = newMemory(10*time.Minute), new(atomic.Bool)
	a.Grant = func(asked time.Time) time.Time {
		if stuck.Load() {
			return time.Time{}
		}
		return asked
	}
	return a, stuck
}

// TestStuck has an authority that answers and does not let the window grow. A burst that uses the
// window up waits for ten seconds from when it began to be so, and then gets an error. Each time
// that the window has grown, or has been replaced, the ten seconds begin anew.
func TestStuck(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a, stuck := stuckMemory()
	var lost atomic.Bool
	a.Before = before(claimtest.OpExtend, func(context.Context) error {
		if lost.Swap(false) {
			return assigner.ErrClaimLost
		}
		return nil
	})
	bubble(t, "cached", a, uid.Both{Layout: narrow, Logger: logger},
		func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			burst := func(patience time.Duration) (time.Duration, error) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				begin := time.Now()
				_, err := g.Fill(ctx, make([]uid.ID, 1<<20))
				return time.Since(begin), err
			}
			waits := func(what string) {
				t.Helper()
				if _, err := burst(9 * time.Second); errors.Is(err, uid.ErrClaimExpired) ||
					g.Stats().Health().Status != uid.Up {
					t.Errorf("%s: a burst gets %v, Health() = %+v, want it to wait", what, err,
						g.Stats().Health())
				}
				if took, err := burst(time.Minute); !errors.Is(err, uid.ErrClaimExpired) ||
					took < 500*time.Millisecond || took > 1500*time.Millisecond {
					t.Errorf("%s: 9 s later a call gets %v after %v, want ErrClaimExpired after 1 s",
						what, err, took)
				}
			}
			stuck.Store(true)
			waits("at first")
			since := g.Stats().FailingSince
			time.Sleep(time.Hour)
			if s := g.Stats(); !s.FailingSince.Equal(since) || log.of("claim not extended") != 1 ||
				log.of("claim still not extended") < 9 || log.of("claim still not extended") > 12 {
				t.Errorf("an hour later, failing since %v, want %v; the log is %v", s.FailingSince,
					since, log.counts)
			}
			stuck.Store(false)
			time.Sleep(20 * time.Second)
			mustNext(t, g)
			stuck.Store(true)
			waits("after the window has grown")
			a.Set(func(m *claimtest.Memory) { m.Length = 40 * time.Minute }) // far beyond the position
			lost.Store(true)
			time.Sleep(20 * time.Second)
			if w := g.Stats().Worker; w == 0 {
				t.Errorf("the claim on worker id %d was not replaced", w)
			}
			waits("after the claim was replaced")
		})
}

// TestStuckWithinWindow lets an authority be away, and then answer without a longer window: while
// the window lasts that is no failure, and the claim does not count as extended.
func TestStuckWithinWindow(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		logger, log := newLogged()
		a, stuck := stuckMemory()
		bubble(t, kind, a, uid.Both{Logger: logger},
			func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				a.Fail(errDown, claimtest.OpExtend)
				time.Sleep(6 * time.Minute)
				if s := g.Stats(); !errors.Is(s.ExtendErr, errDown) {
					t.Errorf("%s: in the outage ExtendErr is %v", kind, s.ExtendErr)
				}
				stuck.Store(true)
				a.Fail(nil)
				time.Sleep(20 * time.Second)
				if s := g.Stats(); s.Health().Status != uid.Up || s.ExtendErr != nil ||
					!s.FailingSince.IsZero() || s.Extends != 0 || !s.LastExtended.Equal(bubbleStart) ||
					log.of("claim extended again") != 1 {
					t.Errorf("%s: the authority answers again: %+v", kind, s)
				}
			})
	}
}

// TestClockJumpConfirmedInBurst asks an authority that takes a second to tell the time, while a
// generator whose window has no end composes all the time: nothing is more urgent than the answer.
func TestClockJumpConfirmedInBurst(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a := endless()
	a.Before = before(claimtest.OpNow, func(ctx context.Context) error {
		select {
		case <-time.After(time.Second):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	bubble(t, "cached", a, uid.Both{Logger: logger},
		func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			clock.Step(5 * time.Hour)
			a.Step(5 * time.Hour)
			for range 20 {
				if _, err := g.Fill(t.Context(), make([]uid.ID, 8192)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(100 * time.Millisecond)
			}
			if held := g.Stats().ClockHeld; held != 0 ||
				log.of("clock jump confirmed by the claim's authority") != 1 {
				t.Errorf("after two seconds the clock is held by %v, want it confirmed after one; "+
					"the log is %v", held, log.counts)
			}
		})
}

// TestMeasure checks how long the windows are that a claim asks for, whatever the authority's clock
// says, and how often it is asked for the time.
func TestMeasure(t *testing.T) {
	t.Parallel()
	const minute, hour = time.Minute, time.Hour
	for _, tc := range []struct {
		name         string
		from, length time.Duration // of the window; from 0: it began nowhere
		made, asked  time.Duration // how far the authority is ahead, when the claim is made and later
		fails        error         // of the question what time it is
		want         time.Duration // 0: nothing is asked for
		nows         int
	}{
		{"a clock that is ahead", 0, 10 * minute, hour, hour, nil, 10 * minute, 1},
		{"a clock that is behind", 0, 10 * minute, 0, -hour, nil, 70 * minute, 1},
		{"a clock that fails", 0, 10 * minute, 0, 50 * minute, errDown, 10 * minute, 1},
		{"a window ahead", 20 * minute, 10 * minute, 0, 0, nil, 10 * minute, 1},
		{"a window that has passed", -hour, 10 * minute, -hour, 0, nil, 10 * minute, 1},
		{"one that began nowhere", 0, 10 * minute, -hour, 0, nil, 2 * time.Second, 1},
		{"one that is over just now", -1, 10 * minute, 0, 10 * minute, nil, 10 * minute, 1},
		{"an endless window", -1, claimtest.Endless, 0, 0, nil, 0, 1}, // the clocks are compared
	} {
		a := newMemory(tc.length)
		if a.From = bubbleStart.Add(tc.from); tc.from == 0 {
			a.From = time.Time{}
		}
		a.Step(tc.made)
		a.Before = before(claimtest.OpNow, func(context.Context) error {
			a.Step(tc.asked - tc.made)
			return tc.fails
		})
		bubble(t, "default", a, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			for range 100 {
				if len(extensions(a)) > 0 {
					break
				}
				time.Sleep(minute)
			}
			extends := extensions(a)
			if nows := len(a.Calls(claimtest.OpNow)); nows != tc.nows {
				t.Errorf("%s: the authority was asked %d times for the time, want %d", tc.name, nows,
					tc.nows)
			}
			if len(extends) == 0 || tc.want == 0 {
				if len(extends) > 0 || tc.want > 0 {
					t.Errorf("%s: extended %v, want a length of %v", tc.name, extends, tc.want)
				}
				return
			}
			begin := max(extends[0].at, tc.from)
			if asked := extends[0].asked - begin; asked <= tc.want || asked > tc.want+time.Second+1 {
				t.Errorf("%s: asked for %v, want %v", tc.name, asked, tc.want)
			}
		})
	}
}

// TestMeasureHangs makes a claim whose authority does not tell the time: the constructor waits for a
// second and goes by its own clock.
func TestMeasureHangs(t *testing.T) {
	t.Parallel()
	a := newMemory(10 * time.Minute)
	a.Before = before(claimtest.OpNow, hangs)
	bubble(t, "default", a, uid.Both{}, func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
		if took := time.Since(bubbleStart); took != time.Second {
			t.Errorf("the constructor took %v, want 1 s", took)
		}
		time.Sleep(10 * time.Minute)
		extends := extensions(a)
		if asked := extends[0].asked - extends[0].at; (asked - 10*time.Minute).Abs() > time.Second {
			t.Errorf("asked for %v, want 10 min", asked)
		}
	})
}

// TestClockJumpNotConfirmed has an authority disagree with a clock that jumped: the log does not
// say that it agreed.
func TestClockJumpNotConfirmed(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a := endless()
	bubble(t, "default", a, uid.Both{Logger: logger},
		func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			clock.Step(5 * time.Hour)
			time.Sleep(time.Minute)
			mustNext(t, g)
			time.Sleep(time.Minute)
			if held := g.Stats().ClockHeld; held != 5*time.Hour ||
				log.of("clock jumped ahead and is held back") != 1 ||
				log.of("clock jump confirmed by the claim's authority") != 0 {
				t.Errorf("the clock is held by %v, want 5 h; the log is %v", held, log.counts)
			}
			if n := len(a.Calls(claimtest.OpNow)); n < 6 || n > 15 {
				t.Errorf("the authority was asked %d times in two minutes, want about one in ten seconds", n)
			}
		})
}

// TestClockAheadAsked starts generators whose clock is hours ahead: the log says so at once, before any call and
// any check, and the authority is not asked again within a second.
func TestClockAheadAsked(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		logger, log := newLogged()
		a := endless()
		bubbleAt(t, kind, a, uid.Both{Logger: logger, MaxLag: time.Hour}, 5*time.Hour,
			func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
				synctest.Wait()
				if said := log.of("clock jumped ahead and is held back"); said != 1 {
					t.Errorf("%s: the jump was logged %d times", kind, said)
				}
				time.Sleep(time.Second - 1)
				if n := len(a.Calls(claimtest.OpNow)); n != 1 {
					t.Errorf("%s: asked %d times in the first second, want once", kind, n)
				}
				time.Sleep(time.Second)
				if n := len(a.Calls(claimtest.OpNow)); n != 2 {
					t.Errorf("%s: asked %d times in two seconds, want twice", kind, n)
				}
			})
	}
}

// plain is a claim that says neither what time it is nor how long its windows are.
type plain struct{ assigner.Claim }

// confused is a claim that says what time it is together with an error.
type confused struct{ assigner.Claim }

func (confused) Now(context.Context) (time.Time, error) {
	return time.Now().Add(-5 * time.Hour), errDown
}

// TestClaimOfFewWords claims from authorities that do not tell the time, or tell it with an error:
// windows are as long as the first one, and the clock is believed.
func TestClaimOfFewWords(t *testing.T) {
	t.Parallel()
	for what, wrap := range map[string]func(assigner.Claim) assigner.Claim{
		"plain":    func(c assigner.Claim) assigner.Claim { return plain{c} },
		"confused": func(c assigner.Claim) assigner.Claim { return confused{c} },
	} {
		a := newMemory(10 * time.Minute)
		bubble(t, "default", altered{a, wrap}, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			time.Sleep(6 * time.Minute)
			got := extensions(a)
			if len(got) != 1 || (got[0].asked-got[0].at-10*time.Minute).Abs() > time.Second ||
				g.Stats().ClockHeld != 0 {
				t.Errorf("%s: extended %v, held by %v, want 10 min, once", what, got, g.Stats().ClockHeld)
			}
		})
	}
}

// TestKeeperSleepsForAnHour leaves a long window alone: the keeper looks at it once an hour.
func TestKeeperSleepsForAnHour(t *testing.T) {
	t.Parallel()
	bubble(t, "default", newMemory(100*time.Hour), uid.Both{},
		func(t *testing.T, _ uid.Generator, clock *uid.TestClock) {
			synctest.Wait()
			reads := clock.Reads.Load()
			time.Sleep(10*time.Hour + time.Minute)
			if n := clock.Reads.Load() - reads; n < 10 || n > 100 {
				t.Errorf("the clock was read %d times in ten hours, want a few times in each", n)
			}
		})
}

// TestExtendsBeyondStep sets the clock beyond the window's end while nobody takes ids: the padder's check has the
// keeper extend the window, which it would do much later by itself.
func TestExtendsBeyondStep(t *testing.T) {
	t.Parallel()
	a := newMemory(30 * time.Minute)
	bubble(t, "cached", a, uid.Both{}, func(t *testing.T, _ uid.Generator, clock *uid.TestClock) {
		clock.Step(40 * time.Minute)
		time.Sleep(5 * time.Second)
		if n := len(extensions(a)); n != 1 {
			t.Errorf("extended %d times within five seconds of the step, want once", n)
		}
	})
}
