package uid_test

import (
	"context"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// stands makes calls of one kind wait until the test closes the channel, whatever their ctx says.
func stands(m *claimtest.Memory, op claimtest.Op) (resume func()) {
	back := make(chan struct{})
	m.Set(func(m *claimtest.Memory) {
		m.Before = before(op, func(context.Context) error {
			<-back
			return nil
		})
	})
	return func() { close(back) }
}

// TestExtendStands has an Extend, or a Now, that does not come back: after its bound it counts as
// failed, the log says so, calls fail at the window's end, and nobody asks again meanwhile. When it
// comes back, ids go on.
func TestExtendStands(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, op := range []claimtest.Op{claimtest.OpExtend, claimtest.OpNow} {
			logger, log := newLogged()
			a := newMemory(10 * time.Minute)
			bubble(t, kind, a, uid.Both{Logger: logger}, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
				mustNext(t, g)
				resume := stands(a, op)
				if op == claimtest.OpNow { // the keeper asks about a jump
					clock.Step(5 * time.Hour)
					time.Sleep(time.Second)
					_, _ = g.Fill(t.Context(), make([]uid.ID, 100))
					time.Sleep(time.Minute)
					clock.Step(-5 * time.Hour)
				}
				time.Sleep(7 * time.Minute)
				if h := g.Stats().Health(); h.Status != uid.Degraded || !strings.Contains(h.Reason, string(op)) {
					t.Errorf("%s, %s: Health() = %+v, want degraded, and why", kind, op, h)
				}
				time.Sleep(time.Hour)
				h, err := callAndHealth(t, g, time.Minute)
				if !errors.Is(err, uid.ErrClaimExpired) || h.Status != uid.Down {
					t.Errorf("%s, %s: Next() = %v, Health() = %+v, want ErrClaimExpired and down", kind, op, err, h)
				}
				log.want(t, map[string][2]int{"claim not extended": {1, 1}, "ids have stopped": {1, 1},
					"claim still not extended": {9, 14}})
				if n := len(a.Calls(op)); n > 2 {
					t.Errorf("%s: %s was called %d times, and one of them is out", kind, op, n)
				}
				resume()
				time.Sleep(30 * time.Second)
				mustNext(t, g)
				if h := g.Stats().Health(); h.Status != uid.Up {
					t.Errorf("%s, %s: the call is back, and Health() = %+v", kind, op, h)
				}
			})
		}
	}
}

// locking is an authority whose claims hold a lock in each of their methods.
type locking struct{ assigner.Assigner }

func (a locking) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := a.Assigner.Assign(ctx, maxWorker)
	return &lockedClaim{c, make(chan struct{}, 1)}, err
}

// lockedClaim's lock is a channel, because a bubble's time stands still while a Mutex is waited for.
type lockedClaim struct {
	claim assigner.Claim
	lock  chan struct{}
}

func (c *lockedClaim) hold() (unlock func()) {
	c.lock <- struct{}{}
	return func() { <-c.lock }
}

func (c *lockedClaim) Worker() int64 {
	defer c.hold()()
	return c.claim.Worker()
}

func (c *lockedClaim) Window() (from, until time.Time) {
	defer c.hold()()
	return c.claim.Window()
}

func (c *lockedClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	defer c.hold()()
	return c.claim.Extend(ctx, until)
}

func (c *lockedClaim) Release(ctx context.Context, used time.Time) error {
	defer c.hold()()
	return c.claim.Release(ctx, used)
}

// TestCloseWhileCallStands closes a generator whose authority does not come back, from an Extend or
// from the Release, with its claim's lock: Close returns after its bound and says so. Only the call's
// own goroutine is left.
func TestCloseWhileCallStands(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, op := range []claimtest.Op{claimtest.OpExtend, claimtest.OpRelease} {
			a := newMemory(10 * time.Minute)
			bubble(t, kind, locking{a}, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				resume := stands(a, op)
				time.Sleep(8 * time.Minute)
				begin := time.Now()
				err := g.Close()
				says := "the authority's " + string(op) + ", which was called at 2000-01-01T"
				if took := time.Since(begin); err == nil || !strings.Contains(err.Error(), says) ||
					took < 5*time.Second || took > 6*time.Second {
					t.Errorf("%s: Close() = %v after %v, want that %s is out after 5 s", kind, err, took, op)
				}
				synctest.Wait()
				calls := len(a.Calls())
				resume()
				time.Sleep(time.Hour)
				if n := len(a.Calls()); n != calls {
					t.Errorf("%s: %d calls after Close", kind, n-calls)
				}
			})
		}
	}
}

// TestAssignStands loses a claim and has the Assign of the next one take minutes: it is the only one,
// and its claim is used when it is there.
func TestAssignStands(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		a := newMemory(10 * time.Minute)
		bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			resume := stands(a, claimtest.OpAssign)
			a.Lose(g.Stats().Worker)
			time.Sleep(20 * time.Minute)
			if h := g.Stats().Health(); h.Status != uid.Down {
				t.Errorf("%s: Health() = %+v, want down", kind, h)
			}
			resume()
			time.Sleep(30 * time.Second)
			mustNext(t, g)
			if n := len(a.Calls(claimtest.OpAssign)); n != 2 || g.Stats().Claims != 2 {
				t.Errorf("%s: %d calls of Assign for %d claims, want 2", kind, n, g.Stats().Claims)
			}
		})
	}
}

// TestCloseAfterLateAssign closes a generator while the Assign that replaces its lost claim is out, or
// has just returned: a claim that is there within Close's bound is given back, unused.
func TestCloseAfterLateAssign(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		for _, late := range []time.Duration{-time.Millisecond, time.Second} {
			logger, log := newLogged()
			a := newMemory(10 * time.Minute)
			bubble(t, kind, a, uid.Both{Logger: logger}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				mustNext(t, g)
				resume := stands(a, claimtest.OpAssign)
				a.Lose(g.Stats().Worker)
				time.Sleep(20 * time.Minute)
				time.AfterFunc(time.Millisecond+late, resume)
				time.Sleep(time.Millisecond)
				mustClose(t, g)
				synctest.Wait()
				windows := a.Windows().All()
				if w := windows[len(windows)-1]; len(windows) != 2 || !w.Until.Before(w.From) {
					t.Errorf("%s, %v late: the late claim has a window: %+v", kind, late, w)
				}
				if got := a.Calls(claimtest.OpRelease); len(got) != 1 || !got[0].Asked.IsZero() ||
					log.of("worker id given back") != 1 { // the lost claim is not
					t.Errorf("%s, %v late: given back %+v, want the late claim, from its start on", kind, late, got)
				}
			})
		}
	}
}

// TestHealthOfIdleAfterWindow sets the clock of an idle Default beyond its window's end while the
// authority is away: the first check of its health has the keeper find out, and the next is right.
func TestHealthOfIdleAfterWindow(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{true, false} {
		a := newPlace(30 * time.Minute)
		bubble(t, "default", a, uid.Both{}, func(t *testing.T, g uid.Generator, clock *uid.TestClock) {
			mustNext(t, g)
			if away {
				a.Fail(errDown)
			}
			time.Sleep(time.Second)
			clock.Step(40 * time.Minute)
			for range 3 { // a step is believed when it has lasted
				g.Stats()
				time.Sleep(time.Second)
			}
			h := g.Stats().Health()
			_, err := g.Next(within(t, time.Second))
			if (h.Status == uid.Down) != away || (err != nil) != away {
				t.Errorf("the authority is away %v: Health() = %+v, Next() = %v", away, h, err)
			}
		})
	}
}

// TestClockPanics has an Options.Clock panic once the claim is made, at each of its readings in
// turn: the constructor panics, too, and the claim is given back.
func TestClockPanics(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		tried := 0
		for reading := int64(1); ; reading++ {
			a := &claimtest.Memory{TellTime: true}
			clock := uid.NewTestClock()
			clock.OnRead = func() { // the keeper reads it too, on a goroutine of its own
				if clock.Reads.Load() == reading && strings.Contains(string(debug.Stack()), "uid.new") {
					panic("no clock")
				}
			}
			panicked := func() (panicked bool) {
				defer func() { panicked = recover() != nil }()
				g, err := start(t.Context(), a, nil, clock)
				if err != nil {
					t.Fatal(err)
				}
				mustClose(t, g)
				return false
			}()
			if !panicked {
				break
			}
			if len(a.Calls(claimtest.OpAssign)) == 0 {
				continue
			}
			tried++
			if n := len(a.Calls(claimtest.OpRelease)); n != 1 {
				t.Errorf("%s: reading %d panics, and the claim is given back %d times", kind, reading, n)
			}
		}
		if tried < 2 {
			t.Errorf("%s: %d readings after the claim, want some", kind, tried)
		}
	}
}

// TestNowPanics has the authority panic when it is asked for the time once the claim is made: the panic is one
// of the constructor's, whose caller may recover it, and the claim is given back.
func TestNowPanics(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		a := &claimtest.Memory{TellTime: true, Before: func(_ context.Context, c claimtest.Call) error {
			if c.Op == claimtest.OpNow {
				panic("no time")
			}
			return nil
		}}
		func() {
			defer func() {
				if got := recover(); got != "no time" {
					t.Errorf("%s: the constructor panics with %v, want the authority's panic", kind, got)
				}
			}()
			g, err := start(t.Context(), a, nil, uid.NewTestClock())
			t.Errorf("%s: the constructor returns %v, %v", kind, g, err)
		}()
		if n := len(a.Calls(claimtest.OpRelease)); n != 1 {
			t.Errorf("%s: the claim is given back %d times", kind, n)
		}
	}
}

// TestExtendEndsItsGoroutine has an Extend end the goroutine that it runs on, as t.FailNow does: it
// counts as failed, and the next one is made.
func TestExtendEndsItsGoroutine(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		a := newPlace(10 * time.Minute)
		a.Before = before(claimtest.OpExtend, func(context.Context) error {
			if len(a.Calls(claimtest.OpExtend)) == 1 {
				runtime.Goexit()
			}
			return nil
		})
		bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			time.Sleep(20 * time.Minute)
			mustNext(t, g)
			if s := g.Stats(); s.ExtendFailures != 1 || s.Extends < 2 || s.Health().Status != uid.Up {
				t.Errorf("%s: %+v", kind, s)
			}
		})
	}
}
