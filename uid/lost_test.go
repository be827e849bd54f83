package uid_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestLostError gets the error of a claim that is lost and not replaced yet: that it is lost, not
// that it expired, and that this passes.
func TestLostError(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		a := losing(10 * time.Minute)
		bubble(t, kind, a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			a.Fail(errDown, claimtest.OpAssign)
			time.Sleep(11 * time.Minute)
			if _, err := g.Next(t.Context()); !errors.Is(err, assigner.ErrClaimLost) ||
				errors.Is(err, uid.ErrClaimExpired) || !uid.Temporary(err) ||
				!strings.HasPrefix(err.Error(), "uid: worker id 0: ") {
				t.Errorf("%s: Next() = %v, temporary: %v, want ErrClaimLost alone, true", kind, err,
					uid.Temporary(err))
			}
		})
	}
}

// TestCloseReleases gives a worker id back that is still held, and says so. One that was lost
// meanwhile is not given back, which is no error.
func TestCloseReleases(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ answer, want error }{{nil, nil}, {assigner.ErrClaimLost, nil},
		{errDown, errDown}} {
		logger, log := newLogged()
		a := newPlace(time.Hour)
		a.worker.Store(7)
		a.Fail(tc.answer, claimtest.OpRelease)
		bubble(t, "default", a, uid.Both{Logger: logger},
			func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
				err := g.Close()
				if !errors.Is(err, tc.want) ||
					err != nil && !strings.HasPrefix(err.Error(), "uid: giving the worker id back: ") {
					t.Errorf("the authority answers %v: Close() = %v", tc.answer, err)
				}
				if n := log.of("worker id given back"); (n == 1) != (tc.answer == nil) {
					t.Errorf("the authority answers %v: logged %d times that the id is given back",
						tc.answer, n)
				}
			})
	}
}

// TestCloseDuringReassign closes a generator whose lost claim is being replaced: that the call
// fails is no news.
func TestCloseDuringReassign(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		var asking, lost atomic.Bool
		var hangs atomic.Int64 // from when on, in nanoseconds
		hangs.Store(1<<63 - 1)
		a := &claimtest.Memory{Before: func(ctx context.Context, c claimtest.Call) error {
			switch {
			case c.Op != claimtest.OpAssign || !lost.Load():
				return nil
			case time.Now().UnixNano() < hangs.Load():
				return errDown
			}
			asking.Store(true)
			<-ctx.Done()
			return ctx.Err()
		}}
		g, err := uid.NewDefaultAt(t.Context(), a, &uid.Both{Layout: bubbleLayout(),
			Logger: logger}, uid.NewTestClock())
		if err != nil {
			t.Fatal(err)
		}
		lost.Store(true)
		a.Lose(g.Stats().Worker)
		for log.of("claim lost") == 0 {
			time.Sleep(time.Millisecond) // no call ends between the repetition and hangs
		}
		hangs.Store(time.Now().Add(5 * time.Minute).UnixNano()) // when it is said again
		for !asking.Load() {
			time.Sleep(100 * time.Millisecond)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if n := log.of("lost claim still not replaced"); n != 0 {
			t.Errorf("Close had %d lines logged that the claim is not replaced", n)
		}
	})
}

// TestOutagesAreLogged has two outages within a minute: each is news.
func TestOutagesAreLogged(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	a := newMemory(20 * time.Second)
	bubble(t, "default", a, uid.Both{Logger: logger},
		func(t *testing.T, _ uid.Generator, _ *uid.TestClock) {
			for i := 1; i <= 2; i++ {
				a.Fail(errDown, claimtest.OpExtend)
				time.Sleep(15 * time.Second)
				if n := log.of("claim not extended"); n != i {
					t.Errorf("in outage %d the log says %d times that the claim is not extended", i, n)
				}
				a.Fail(nil)
				time.Sleep(15 * time.Second)
				if n := log.of("claim extended again"); n != i {
					t.Errorf("after outage %d the log says %d times that it is again", i, n)
				}
			}
		})
}

// endlessClaim is a claim whose first extension takes the end from its window.
type endlessClaim struct {
	assigner.Claim
	extended *atomic.Bool
}

func (c endlessClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	_, err := c.Claim.Extend(ctx, until)
	c.extended.Store(err == nil)
	return time.Time{}, err
}

func (c endlessClaim) Window() (from, until time.Time) {
	if from, until = c.Claim.Window(); c.extended.Load() {
		until = time.Time{}
	}
	return from, until
}

// movingClaim is an endlessClaim whose worker id is another one after an extension, which no claim
// may do.
type movingClaim struct{ endlessClaim }

func (c movingClaim) Worker() int64 {
	if c.extended.Load() {
		return 1 << 40
	}
	return c.Claim.Worker()
}

// TestExtendedForGood extends a window to one without an end: there is nothing left to extend.
func TestExtendedForGood(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		synctest.Test(t, func(t *testing.T) {
			a := altered{newMemory(10 * time.Minute), func(c assigner.Claim) assigner.Claim {
				return endlessClaim{c, new(atomic.Bool)}
			}}
			g, err := kinds[kind](t.Context(), a, &uid.Both{Layout: bubbleLayout()},
				uid.NewTestClock())
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			time.Sleep(time.Hour)
			mustNext(t, g)
			if s := g.Stats(); s.Extends != 1 || s.ExtendErr != nil || !s.WindowUntil.IsZero() {
				t.Errorf("%s: an endless window: %+v", kind, s)
			}
		})
	}
}

// TestExtendedWrongly extends a claim that changes its worker id to one that the layout cannot
// hold: ids go on to the window's end, and then the error says why.
func TestExtendedWrongly(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		synctest.Test(t, func(t *testing.T) {
			a := altered{newMemory(10 * time.Minute), func(c assigner.Claim) assigner.Claim {
				return movingClaim{endlessClaim{c, new(atomic.Bool)}}
			}}
			g, err := kinds[kind](t.Context(), a, &uid.Both{Layout: bubbleLayout()},
				uid.NewTestClock())
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			time.Sleep(9 * time.Minute)
			if p := g.Parse(mustNext(t, g)); p.Worker != 0 {
				t.Errorf("%s: got %+v, want an id of worker 0", kind, p)
			}
			time.Sleep(2 * time.Minute)
			if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrClaimExpired) ||
				!errors.Is(err, bitsalloc.ErrRange) {
				t.Errorf("%s: Next() = %v, want ErrClaimExpired and ErrRange", kind, err)
			}
		})
	}
}

// TestLostForGoodLooks has a ring outlast the window of a claim that is lost for good by minutes:
// until ids stop, the keeper looks ten times a second at the most.
func TestLostForGoodLooks(t *testing.T) {
	t.Parallel()
	logger, log := newLogged()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		clock := uid.NewTestClock()
		clock.OnRead = func() { reads.Add(1) }
		a := losing(10 * time.Minute)
		uid.Open(t, kinds["cached"], a, uid.Both{MaxLag: time.Hour, Logger: logger}, clock)
		a.Fail(assigner.ErrWorkersExhausted, claimtest.OpAssign)
		time.Sleep(10 * time.Minute)
		before := reads.Load()
		time.Sleep(time.Minute)
		if n := reads.Load() - before; log.of("ids have stopped") != 0 || n > 60*10*10 {
			t.Errorf("the clock was read %d times in a minute; the log is %v", n, log.counts)
		}
	})
}

// TestLostForGoodSleeps has the keeper of a claim that is lost for good sleep between its attempts.
func TestLostForGoodSleeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int64
		clock := uid.NewTestClock()
		clock.OnRead = func() { reads.Add(1) }
		a := losing(10 * time.Minute)
		uid.Open(t, kinds["default"], a, uid.Both{}, clock)
		a.Fail(assigner.ErrWorkersExhausted, claimtest.OpAssign)
		time.Sleep(6 * time.Minute)
		before := reads.Load()
		time.Sleep(3 * time.Minute)
		if n := reads.Load() - before; n > 600 { // a few for each attempt, every five seconds at most
			t.Errorf("the clock was read %d times in three minutes", n)
		}
	})
}

// TestReassignAsksTime loses a claim: the authority is asked for the time again where that tells how long
// the new window is, and its clock, which may be hours off, does not hold that of the generator.
func TestReassignAsksTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		span, length time.Duration // of the new window
		nows         int
	}{{0, 10 * time.Minute, 2}, {10 * time.Minute, 10 * time.Minute, 1}, {0, claimtest.Endless, 1}} {
		a := newMemory(10 * time.Minute)
		bubble(t, "default", a, uid.Both{}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			a.Lose(g.Stats().Worker)
			a.Step(-5 * time.Hour)
			a.Set(func(m *claimtest.Memory) { m.Span, m.Length = tt.span, tt.length })
			for g.Stats().Claims == 1 {
				time.Sleep(time.Second)
			}
			if nows, s := len(a.Calls(claimtest.OpNow)), g.Stats(); nows != tt.nows || s.ClockHeld != 0 {
				t.Errorf("%+v: asked %d times for the time, held by %v", tt, nows, s.ClockHeld)
			}
		})
	}
}

// TestFirstAssignLate has the first Assign take no notice of its ctx: the constructor waits for it, as
// nobody else would give its claim back.
func TestFirstAssignLate(t *testing.T) {
	t.Parallel()
	for kind, start := range kinds {
		synctest.Test(t, func(t *testing.T) {
			a := newMemory(10 * time.Minute)
			a.After = func(_ context.Context, c claimtest.Call) error {
				if c.Op == claimtest.OpAssign {
					time.Sleep(time.Second)
				}
				return nil
			}
			g, err := start(within(t, 10*time.Millisecond), a, &uid.Both{Layout: bubbleLayout()}, uid.NewTestClock())
			if err == nil {
				mustClose(t, g)
			}
			if n := len(a.Calls(claimtest.OpRelease)); n != 1 || time.Since(bubbleStart) < time.Second {
				t.Errorf("%s: %v after %v, and the claim is given back %d times", kind, err, time.Since(bubbleStart), n)
			}
		})
	}
}
