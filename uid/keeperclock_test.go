package uid_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/uid"
)

// TestHangingClock has a clock jump and an authority that does not tell the time: windows are
// extended all the same, without delay.
func TestHangingClock(t *testing.T) {
	t.Parallel()
	var hang atomic.Bool
	a := newMemory(10 * time.Minute)
	a.Before = before(assignertest.OpNow, func(ctx context.Context) error {
		if hang.Load() {
			return hangs(ctx)
		}
		return nil
	})
	bubble(t, "cached", a, uid.Options{TakePolicy: uid.TakeReject},
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
	eachKind(t, uid.Options{Rollback: uid.RollbackHold(time.Minute)},
		func(a *place) { a.From, a.Length = time.Time{}, assignertest.Endless },
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
	a.From, a.Length, a.TellTime = time.Time{}, assignertest.Endless, true
}

func TestClockJumpConfirmed(t *testing.T) {
	const hours = 5 * time.Hour
	eachKind(t, uid.Options{}, tellsTheTime, func(t *testing.T, g uid.Generator, a *place, clock *uid.TestClock) {
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
			c := cachedAt(t, uid.Options{}, clock)
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
		a := &assignertest.Memory{Length: assignertest.Endless,
			Before: before(assignertest.OpAssign, func(context.Context) error {
				clock.Step(3 * time.Hour)
				return nil
			})}
		g := uid.Open(t, make, a, uid.Options{}, clock)
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
	eachKind(t, uid.Options{}, tellsTheTime, func(t *testing.T, g uid.Generator, a *place, clock *uid.TestClock) {
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
