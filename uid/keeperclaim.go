package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/uidring/uidring/assigner"
)

// assign makes a claim and publishes its window. A claim whose worker id the layout cannot hold is
// released at once. On an error the old claim, if there is one, is still the keeper's. A lost claim
// is not released: it has nothing to give back.
//
// The first Assign is called on the constructor's goroutine. A later one that returns too late is
// not lost: the next attempt finds its claim.
func (k *keeper) assign(ctx context.Context) error {
	first := k.claim == nil
	call := func() error {
		c, err := k.assigner.Assign(ctx, k.timeline.maxWorker)
		if err == nil {
			k.spare <- c
		}
		return err
	}
	var err error
	switch {
	case first:
		err = call()
	case len(k.spare) == 0:
		err = k.ask(ctx, "Assign", call)
	}
	if err != nil {
		return fmt.Errorf("uid: assigning a worker id: %w", err)
	}
	c := <-k.spare
	w, err := newWindow(k.timeline, c)
	if err != nil {
		return errors.Join(err, k.ask(ctx, "Release", func() error {
			return c.Release(ctx, time.Time{})
		}))
	}
	// Each claim doubles the least time to the next one, until a claim has lasted. An extension
	// does not count as lasting: in a storm of losses every claim may be extended once.
	k.pace = max(2*k.pace, keeperBackoffMin)
	if time.Since(k.since) >= keeperBackoffMax {
		k.pace = 0
	}
	k.claim, k.since = c, time.Now()
	k.made.Add(1)
	var told time.Time
	if first || !w.until.IsZero() && k.span() <= 0 {
		told = k.tell(ctx)
	}
	// A clock that is far ahead when the process starts is held back like one that jumps later.
	if first && !told.IsZero() {
		k.clock.beginAt(told)
	}
	k.length, k.stuck, k.slow = k.measure(w, told), time.Time{}, 0
	w.extended = k.clock.now()
	k.publish(w, forever)
	k.reportClaim(w)
	return nil
}

// publish makes w the window that is composed under. It is to be extended when half of the window
// is left, or up to an eighth earlier, so that the processes of a fleet do not extend all at once.
// So an outage of the authority may last for half of a window at any time without a missing id. w
// is complete here: nothing changes it after the Store.
//
// A window that is shorter than what was asked for has left, which is forever for others. The
// authority grants more as its clock goes on, so it is asked when half of that has passed, or is
// used up.
func (k *keeper) publish(w *window, left time.Duration) {
	w.renew = w.end
	if !w.until.IsZero() {
		k.ahead = k.length/2 + w.jitter(k.length/8+1)
		k.least, k.rest = min(k.ahead, left/2), time.Time{}
		if left < forever {
			k.rest = time.Now().Add(left / 2)
		}
		w.renew = k.timeline.at(w.until.Add(-k.least))
	}
	k.window.Store(w)
}

// jitter returns a duration in [0, d) that differs from process to process: a hash of the window's
// worker id and time, so that a simulation that is run again is the same. It does not ask the
// claim: a call may be out.
func (w *window) jitter(d time.Duration) time.Duration {
	return time.Duration(mix(mix(uint64(w.worker))^uint64(time.Now().UnixNano())) % uint64(d))
}

// extend moves the window's end, or publishes why it cannot. w is the window that is extended. It
// asks from what the window has to stay ahead of, so a burst gets as much time ahead of it as a
// quiet generator ahead of the clock.
func (k *keeper) extend(ctx context.Context, w *window) error {
	asked := k.needs().Add(k.length)
	err := k.ask(ctx, "Extend", func() error {
		_, err := k.claim.Extend(ctx, asked)
		return err
	})
	if err != nil {
		// Canceled is Close, which is no failure. The end of keeperAttempt is another cause.
		if context.Cause(ctx) == context.Canceled {
			return err
		}
		return k.fail(ctx, w, err)
	}
	// The claim's Window says what was reserved, which may be more or less than what was asked for.
	next, err := newWindow(k.timeline, k.claim)
	if err != nil {
		return k.fail(ctx, w, err)
	}
	if grown := next.until.IsZero() || next.until.After(w.until); !grown {
		return k.idle(ctx, w, next)
	}
	k.stuck, k.slow = time.Time{}, 0
	left := forever
	k.extends.Add(1)
	next.extended = k.clock.now()
	// A claim that bounds its lead to less than keeperSlow is asked before its window is over.
	if !next.until.IsZero() && asked.Sub(next.until) > k.length/8 {
		left = next.until.Sub(k.needs())
		k.slow = min(keeperSlow, max(keeperPauseMin, next.until.Sub(next.extended)/2))
	}
	if next.end < k.timeline.end() && !next.extended.Before(k.timeline.time(next.end)) {
		next.failing = w.failing
		return k.fail(ctx, next, errBehind)
	}
	k.install(w, next, left)
	return nil
}

// install publishes next in place of w after an extension. changed comes after the store, so that a
// caller that it wakes finds next.
func (k *keeper) install(w, next *window, left time.Duration) {
	k.publish(next, left)
	k.changed()
	if w.err != nil {
		k.journal.log(func(l *slog.Logger) {
			l.Info("claim extended again", known("worker", w.worker, "until", next.until)...)
		})
	}
}

// fail publishes and logs why the window could not be extended, and replaces a lost claim. What it
// publishes is w with the error: the window stays, so ids go on to its end, and callers get the
// error after it.
func (k *keeper) fail(ctx context.Context, w *window, err error) error {
	failed, first := *w, w.failing.IsZero()
	k.failures.Add(1)
	if first {
		failed.failing = k.clock.now()
	}
	lost := errors.Is(err, assigner.ErrClaimLost)
	why := claimError{kind: ErrClaimExpired, cause: err, head: "uid"}
	switch {
	case errors.Is(err, assigner.ErrSuperseded):
		why.kind = assigner.ErrSuperseded
		why.text = fmt.Sprintf("worker id %d stops at %v: %v", w.worker, w.until, err)
	case lost:
		why.kind = assigner.ErrClaimLost
		why.text = fmt.Sprintf("worker id %d: %v", w.worker, err)
	default:
		// One of the clocks is wrong, and the authority answers: what waits, waits for the clock.
		_, tells := k.claim.(assigner.Clock)
		if errors.Is(err, assigner.ErrBeyondReach) || tells && err == errBehind {
			why.kind = ErrLead
		}
		why.head = why.kind.Error()
		why.text = fmt.Sprintf("worker id %d could not be extended beyond %v: %v", w.worker,
			w.until, err)
	}
	failed.err, failed.lost = &why, lost
	// From here to the next extension callers past the window's end get failed.err.
	k.window.Store(&failed)
	k.changed()
	if lost {
		k.lost.Add(1)
		k.reminded = time.Now()
		k.journal.log(func(l *slog.Logger) {
			l.Warn("claim lost", "worker", w.worker, "ids_until", k.timeline.time(w.end), "error",
				err)
		})
		return k.reassign(ctx)
	}
	k.remind(&failed, first, err)
	return err
}

// remind logs that extending fails, or replacing a lost claim: the first time, and every
// keeperReminder. first says that extending did not fail before; err is why it fails now.
func (k *keeper) remind(w *window, first bool, err error) {
	if !first && time.Since(k.reminded) < keeperReminder {
		return
	}
	k.reminded = time.Now()
	until := k.timeline.time(w.end)
	k.journal.log(func(l *slog.Logger) {
		l = l.With("worker", w.worker, "ids_until", until, "failing_since", w.failing, "error", err)
		switch {
		case first:
			l.Warn("claim not extended")
		case w.lost:
			l.Warn("lost claim still not replaced")
		default:
			l.Warn("claim still not extended")
		}
	})
}

// reassign replaces a lost claim by a new one, with a worker id of its own. The lost window stays
// usable until then, and then the composer drops what it holds of it. Claims that are lost again at
// once are not replaced at once, or a storm of losses would use up worker ids as fast as the
// authority hands them out.
func (k *keeper) reassign(ctx context.Context) error {
	if time.Since(k.since) < k.pace {
		return errTooEarly
	}
	lost := k.window.Load()
	if err := k.assign(ctx); err != nil {
		if context.Cause(ctx) != context.Canceled { // Canceled is Close
			k.remind(lost, false, err)
		}
		return err
	}
	k.changed()
	worker := k.window.Load().worker
	k.journal.log(func(l *slog.Logger) {
		l.Warn("worker id replaced after its claim was lost", "lost", lost.worker, "worker", worker)
	})
	return nil
}
