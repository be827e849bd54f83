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

// TestClockBackErrorFields: what calls and Stats say of a clock that went back names how far, and
// the bound of the option.
func TestClockBackErrorFields(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rollback uid.Rollback
		bound    time.Duration
		waits    bool // the call waits, so only Stats has the error
	}{
		{uid.Rollback{}, 0, false},
		{uid.RollbackWait(time.Minute), time.Minute, false},
		{uid.RollbackHold(time.Minute), time.Minute, false},
		{uid.RollbackWait(time.Hour), time.Hour, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := uid.NewTestClock()
			d := defaultAt(t, uid.Both{Rollback: tc.rollback}, clock)
			time.Sleep(10 * time.Second)
			mustNext(t, d)
			clock.Step(-5 * time.Minute)
			want := uid.ClockBackError{By: 5 * time.Minute, Bound: tc.bound}
			errs := []error{d.Stats().Err}
			if !tc.waits {
				_, err := d.Next(t.Context())
				errs = append(errs, err)
			}
			for _, err := range errs {
				var back *uid.ClockBackError
				if !errors.As(err, &back) || *back != want {
					t.Errorf("%v: %v, want %v", tc.rollback, err, &want)
				}
			}
		})
	}
}

// TestErrOfClaimAhead uses up ticks of a window that begins three seconds ahead of the clock. When
// the clock is there, it has not gone back: a wait of up to five seconds is no error, and a longer one
// is a lead.
func TestErrOfClaimAhead(t *testing.T) {
	t.Parallel()
	for _, ticks := range []int{3, 5, 6, 20} {
		synctest.Test(t, func(t *testing.T) {
			a := newPlace(claimtest.Endless)
			a.From = bubbleStart.Add(3 * time.Second)
			l := bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 3, Epoch: bubbleEpoch}
			clock := uid.NewTestClock()
			d := uid.Open(t, uid.NewDefaultAt, a, uid.Both{Layout: l, SeqStart: 1,
				Rollback: uid.RollbackWait(time.Hour)}, clock)
			mustFill(t, d, make([]uid.ID, 8*ticks))
			time.Sleep(3 * time.Second)
			var back *uid.ClockBackError
			wait := time.Duration(ticks) * time.Second
			switch err := d.Stats().Err; {
			case ticks <= 5 && err != nil:
				t.Errorf("%d ticks ahead: %v", ticks, err)
			case ticks > 5 && (errors.As(err, &back) || !errors.Is(err, uid.ErrLead)):
				t.Errorf("%d ticks ahead: %v, want ErrLead", ticks, err)
			}
			nextIn(t, d, wait, wait, fmt.Sprintf("%d ticks ahead", ticks))
			time.Sleep(time.Minute)
			mustNext(t, d)
			clock.Step(-4 * time.Second) // beyond the ticks that the claim began ahead
			if err := d.Stats().Err; !errors.As(err, &back) || back.By != 4*time.Second {
				t.Errorf("%d ticks ahead, and later 4 s back: %v, want a ClockBackError", ticks, err)
			}
		})
	}
}

// TestErrAtMaxLead holds a tick that is farther ahead of the clock than MaxLead permits: the bound
// is the error, not the clock.
func TestErrAtMaxLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		clock := uid.NewTestClock()
		d := defaultAt(t, uid.Both{Rollback: uid.RollbackHold(time.Hour), MaxLead: 20 * time.Second}, clock)
		time.Sleep(10 * time.Second)
		mustNext(t, d)
		clock.Step(-5 * time.Minute)
		if err := d.Stats().Err; !errors.Is(err, uid.ErrLead) {
			t.Errorf("Err = %v, want ErrLead", err)
		}
	})
}

// TestLogsOfWait has a Cached whose claim needs no keeper wait for a clock that went back: the log
// says that ids have stopped, and that they are back when a call has composed.
func TestLogsOfWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		clock := uid.NewTestClock()
		c := cachedAt(t, uid.Both{MaxLead: 20 * time.Second, TakePolicy: uid.TakeReject,
			Logger: logger}, clock)
		clock.Step(-5 * time.Minute)
		c.Empty()
		if _, err := c.Next(t.Context()); !errors.Is(err, uid.ErrLead) {
			t.Fatalf("Next: %v, want ErrLead", err)
		}
		haltLines(t, "a clock that went back", log, 1, 0)
		time.Sleep(5 * time.Minute)
		haltLines(t, "the clock has caught up", log, 1, 1)
	})
}

// TestLogsOfSecondStop has ids stop again within a second of being back, while a caller waits, which
// does not look again: the log says it all the same.
func TestLogsOfSecondStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logger, log := newLogged()
		clock := uid.NewTestClock()
		c := cachedAt(t, uid.Both{MaxLead: 2 * time.Second, Logger: logger}, clock)
		stop := func(patience time.Duration) {
			clock.Step(-time.Hour)
			c.Empty()
			if _, err := c.Next(within(t, patience)); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("Next: %v, want the ctx's end", err)
			}
		}
		stop(5 * time.Second)
		clock.Step(time.Hour)
		mustNext(t, c)
		haltLines(t, "the clock is back", log, 1, 1)
		time.Sleep(300 * time.Millisecond)
		stop(time.Minute)
		haltLines(t, "it went back again", log, 2, 1)
	})
}

// TestLogsOfClose takes an id while Close gives the claim back: that ids have stopped is no news.
func TestLogsOfClose(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		logger, log := newLogged()
		a := &claimtest.Memory{Before: before(claimtest.OpRelease, func(context.Context) error {
			time.Sleep(time.Second)
			return nil
		})}
		bubble(t, kind, a, uid.Both{Logger: logger}, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			closed := make(chan error)
			go func() { closed <- g.Close() }()
			synctest.Wait()
			if _, err := g.Next(t.Context()); !errors.Is(err, uid.ErrClosed) {
				t.Errorf("%s: Next: %v, want ErrClosed", kind, err)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
			haltLines(t, kind, log, 0, 0)
		})
	}
}

// TestErrAtTickEnd uses a tick up at its start: calls wait for the next one, which is no error.
func TestErrAtTickEnd(t *testing.T) {
	t.Parallel()
	for kind := range kinds {
		o := uid.Both{SeqStart: 1, MaxLead: time.Nanosecond}
		bubble(t, kind, claimtest.Static(1), o, func(t *testing.T, g uid.Generator, _ *uid.TestClock) {
			mustFill(t, g, make([]uid.ID, 8192))
			if err := g.Stats().Err; err != nil {
				t.Errorf("%s: a second before the next tick: Err = %v", kind, err)
			}
		})
	}
}

// TestExtendsWhileBack sets the clock back while extending fails, so that nothing is due for minutes,
// and then to where it was. The keeper asks all the same, so that calls go on beyond the window.
func TestExtendsWhileBack(t *testing.T) {
	t.Parallel()
	a := newPlace(10 * time.Minute)
	a.Fail(errDown, claimtest.OpExtend)
	o := uid.Both{}
	bubble(t, "default", a, o, func(t *testing.T, d uid.Generator, clock *uid.TestClock) {
		time.Sleep(9 * time.Minute)
		clock.Step(-8 * time.Minute)
		time.Sleep(5 * time.Second)
		a.Fail(nil)
		time.Sleep(16 * time.Second) // the longest pause between two attempts
		if end := d.Stats().WindowUntil; !end.After(bubbleStart.Add(10 * time.Minute)) {
			t.Errorf("the window reaches %v, want it extended", end)
		}
		clock.Step(8 * time.Minute)
		time.Sleep(45 * time.Second)
		mustNext(t, d)
	})
}

// TestErrOfNextTick sets the clock back by a tick, and by more: a call that waits for the next tick is
// not an error.
func TestErrOfNextTick(t *testing.T) {
	t.Parallel()
	for _, back := range []time.Duration{time.Second, time.Second + 1} {
		synctest.Test(t, func(t *testing.T) {
			clock := uid.NewTestClock()
			d := defaultAt(t, uid.Both{Rollback: uid.RollbackWait(time.Hour)}, clock)
			time.Sleep(10 * time.Second)
			mustNext(t, d)
			clock.Step(-back)
			if err := d.Stats().Err; errors.Is(err, uid.ErrClockBack) != (back > time.Second) {
				t.Errorf("%v back: Err = %v", back, err)
			}
		})
	}
}
