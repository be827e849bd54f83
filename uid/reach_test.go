package uid_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// withReach returns an authority that tells the time, whose windows are that long and end no further
// beyond its clock than a day.
func withReach(length time.Duration) *claimtest.Memory {
	const reach = 24 * time.Hour
	m := newMemory(length)
	var mu sync.Mutex
	end := bubbleStart.Add(length)
	m.Before = func(_ context.Context, c claimtest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		if most := m.Now().Add(reach); c.Op == claimtest.OpExtend && c.Asked.After(most) && !most.After(end) {
			return fmt.Errorf("%w: it is %v, the end %v was asked for, the reach is %v", assigner.ErrBeyondReach,
				m.Now(), c.Asked, reach)
		}
		return nil
	}
	// Memory's clock is that of the bubble in these tests.
	m.Grant = func(asked time.Time) time.Time {
		mu.Lock()
		defer mu.Unlock()
		if most := time.Now().Add(reach); asked.After(most) {
			asked = most
		}
		end = asked
		return asked
	}
	return m
}

// TestClockAheadAtStart starts generators whose clock is five years ahead: it is held back like one
// that jumps later, so ids carry the authority's time, and health and log name the clock. Where the
// authority does not tell its time again, the clock is believed after ten minutes, and there is no
// room for it: calls meet what MaxLead gives them, and the authority is asked once a second at the
// most. When the clock is right, ids go on.
func TestClockAheadAtStart(t *testing.T) {
	t.Parallel()
	const years = 5 * 365 * 24 * time.Hour
	for kind := range kinds {
		for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait, uid.TakeReject} {
			logger, log := newLogged()
			m := withReach(10 * time.Minute)
			bubbleAt(t, kind, m, uid.Both{TakePolicy: policy, Logger: logger,
				Rollback: uid.RollbackHold(time.Minute)}, years, func(t *testing.T, g uid.Generator,
				clock *uid.TestClock) {
				m.Fail(errors.New("no time"), claimtest.OpNow)
				what := fmt.Sprint(kind, ", policy ", policy)
				for range 9 * 60 {
					h, _ := callAndHealth(t, g, time.Second)
					if p := g.Parse(mustNext(t, g)); time.Since(p.Time).Abs() > 4*time.Second ||
						h.Status != uid.Degraded || !strings.Contains(h.Reason, "clock") {
						t.Fatalf("%s: %+v at %v, Health() = %+v", what, p, time.Now(), h)
					}
					time.Sleep(time.Second)
				}
				if n := log.of("clock jumped ahead and is held back"); n != 1 {
					t.Errorf("%s: the log is %v, want one line that the clock is held", what, log.counts)
				}
				time.Sleep(10 * time.Minute)
				before := len(extensions(m))
				begin := time.Now()
				for range 10 {
					h := g.Stats().Health()
					_, err := g.Next(within(t, time.Minute))
					want := context.DeadlineExceeded
					if policy == uid.TakeReject {
						want = uid.ErrLead
					}
					if !errors.Is(err, want) || h.Status != uid.Down || !strings.Contains(h.Reason, "clock") {
						t.Fatalf("%s: Next() = %v, want %v; Health() = %+v", what, err, want, h)
					}
					if policy == uid.TakeReject && (!uid.Temporary(err) || !strings.Contains(err.Error(), "clock")) {
						t.Fatalf("%s: Next() = %v, want why, and temporary", what, err)
					}
					time.Sleep(time.Minute)
				}
				if n, most := len(extensions(m))-before, int(time.Since(begin)/time.Second); n < most/20 || n > most {
					t.Errorf("%s: the authority was asked %d times in %d s", what, n, most)
				}
				if until := g.Stats().WindowUntil; until.After(time.Now().Add(24 * time.Hour)) {
					t.Errorf("%s: the window reaches %v at %v", what, until, time.Now())
				}
				clock.Step(-years)
				time.Sleep(5 * time.Second)
				p := g.Parse(mustNext(t, g))
				if time.Since(p.Time) > 5*time.Second {
					t.Errorf("%s: the clock is right, and an id is %+v at %v", what, p, time.Now())
				}
				mustClose(t, g)
				if used := m.Calls(claimtest.OpRelease)[0].Asked; time.Until(used) > 25*time.Hour {
					t.Errorf("%s: given back from %v on", what, used)
				}
			})
		}
	}
}

// TestClockAheadDenied is the same where the authority goes on to tell the time: however long the clock
// is wrong, and whether or not the claim's window has an end, it is not believed, also when the
// authority goes away.
func TestClockAheadDenied(t *testing.T) {
	t.Parallel()
	const years = 5 * 365 * 24 * time.Hour
	for kind := range kinds {
		for what, m := range map[string]*claimtest.Memory{"windows": withReach(time.Hour), "endless": endless()} {
			bubbleAt(t, kind, m, uid.Both{}, years, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
				for minute := range 100 {
					time.Sleep(time.Minute)
					if minute == 75 {
						m.Fail(errors.New("gone"), claimtest.OpNow)
					}
					p := g.Parse(mustNext(t, g))
					if h := g.Stats().Health(); time.Since(p.Time).Abs() > 4*time.Second || h.Status != uid.Degraded {
						t.Fatalf("%s, %s: %+v at %v, Health() = %+v", kind, what, p, time.Now(), h)
					}
				}
				clock.Step(-years)
				time.Sleep(time.Second)
				p := g.Parse(mustNext(t, g))
				if h := g.Stats().Health(); time.Since(p.Time).Abs() > 4*time.Second || h.Status != uid.Up {
					t.Errorf("%s, %s: the clock is right: %+v at %v, Health() = %+v", kind, what, p, time.Now(), h)
				}
			})
		}
	}
}

// TestBeyondReach has an authority say that the window would end beyond its reach: that is not an
// outage. Calls meet what MaxLead gives them once the window is used up, and a lower reach or a
// right clock is found out within seconds.
func TestBeyondReach(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeReject} {
			m := newMemory(10 * time.Minute)
			m.Fail(fmt.Errorf("%w: it is 1999", assigner.ErrBeyondReach), claimtest.OpExtend)
			bubble(t, kind, m, uid.Both{TakePolicy: policy}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				time.Sleep(6 * time.Minute)
				if h := g.Stats().Health(); h.Status != uid.Degraded ||
					!strings.Contains(h.Reason, "authority's clock") {
					t.Errorf("%s: Health() = %+v, want degraded, and the clock", kind, h)
				}
				mustNext(t, g)
				time.Sleep(6 * time.Minute)
				before := len(extensions(m))
				h := g.Stats().Health()
				_, err := g.Next(within(t, time.Minute))
				if wait := errors.Is(err, context.DeadlineExceeded); wait == errors.Is(err, uid.ErrLead) ||
					wait != (policy == uid.TakePad) || h.Status != uid.Down || errors.Is(err, uid.ErrClaimExpired) {
					t.Errorf("%s, policy %v: Next() = %v, Health() = %+v", kind, policy, err, h)
				}
				if s := g.Stats(); policy == uid.TakeReject && (s.RejectsLead != 1 || s.RejectsClaim != 0 ||
					!errors.Is(err, assigner.ErrBeyondReach)) {
					t.Errorf("%s: Next() = %v, %+v", kind, err, s)
				}
				time.Sleep(time.Minute)
				if n := len(extensions(m)) - before; n < 15 || n > 120 {
					t.Errorf("%s: the authority was asked %d times in one minute or two", kind, n)
				}
				m.Fail(nil)
				time.Sleep(5 * time.Second)
				mustNext(t, g)
			})
		}
	}
}

// TestPaceOfPartialGrants takes a burst from an authority that grants a second more each time it is
// asked for ten minutes: it is asked once a second at the most, however many callers wait.
func TestPaceOfPartialGrants(t *testing.T) {
	t.Parallel()
	m := newMemory(10 * time.Minute)
	end := bubbleStart.Add(10 * time.Minute)
	m.Grant = func(time.Time) time.Time {
		end = end.Add(time.Second)
		return end
	}
	bubble(t, "cached", m, uid.Both{Layout: narrow}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
		calls, newest := uid.Takers(t, g, 4)
		time.Sleep(time.Minute)
		if n := len(extensions(m)); n < 10 || n > 61 {
			t.Errorf("the authority was asked %d times in a minute, want one time a second at the most", n)
		}
		if n := calls.Load(); n < 600*128 {
			t.Errorf("the burst got %d ids", n)
		}
		if h := g.Stats().Health(); h.Status != uid.Up {
			t.Errorf("Health() = %+v", h)
		}
		mustClose(t, g)
		newest()
	})
}
