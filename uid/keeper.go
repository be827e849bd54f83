package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// errExtending says that the position has reached the window's end and the keeper is extending it.
// It never leaves the package: callers wait, or get ErrEmpty when the take policy forbids that.
var errExtending = errors.New("uid: the claim is being extended")

// errNotGrown says that an extension left the window's end where it was.
var errNotGrown = errors.New("uid: the window has not grown")

// errStuck says the same of a window that is over, or used up.
var errStuck = errors.New("uid: extending succeeds, and the window does not grow")

// errBehind says that an extension has moved the window's end, and not beyond the clock.
var errBehind = errors.New("uid: extending succeeds, and the window still ends in the past: " +
	"is the clock ahead of the authority's?")

// errTooEarly says that a lost claim is not replaced yet.
var errTooEarly = errors.New("uid: too early for a new claim")

// errGivenUp marks a lost claim that NoReassign keeps from being replaced.
var errGivenUp = errors.New("uid: the worker id is lost for good (NoReassign)")

const (
	keeperPauseMin = 10 * time.Millisecond // between two looks that the timer causes

	// Bounds of the pause after an attempt that failed. It doubles from one to the other.
	keeperBackoffMin = 100 * time.Millisecond
	keeperBackoffMax = 10 * time.Second

	keeperAttempt  = 10 * time.Second // bound of one call of the authority
	releaseTimeout = 5 * time.Second  // bound of Close's call of the authority
	keeperReminder = 5 * time.Minute  // between two log lines that say the same
)

// keeper owns the claim: it extends the window well before its end, claims a new worker id when the
// old one is lost, and has a held clock confirmed. Its one goroutine is the only one that calls the
// claim, and it runs only if there is something to keep. Composing reads window and nothing else,
// so the keeper costs nothing per id.
//
// window.err is the claim's state:
//
//	held       nil               until Extend fails
//	failing    ErrClaimExpired   until Extend succeeds: held, or says ErrClaimLost: lost
//	lost       ErrClaimLost      until Assign succeeds: held; for good with NoReassign
//
// A claim that is failing or lost is still used to its window's end: the authority gives
// that window to no other owner.
//
//	claimed                renew, with jitter        ids stop here if extending fails
//	   │                        │                                │
//	───┼────────────────────────┼────────────────────────────────┼────►  time
//	   └─── half of the window ─┴─── half: attempts, backing off ┘
//
// The keeper decides when, and never whether two ids are equal: however late it is, composing stops
// at the window's end, and however early, a window only grows.
type keeper struct {
	timeline   *timeline
	assigner   assigner.Assigner
	authority  string // what the assigner says it is, or empty
	clock      *clock
	journal    *journal
	noReassign bool
	front      func() time.Time // the end of the tick that the generator composes next
	changed    func()           // called after every change of window, without a lock
	blocked    func() error     // Stats.Err

	// Stored by the constructor and then by the goroutine alone. Each window is immutable.
	window atomic.Pointer[window]

	made, lost, extends, failures atomic.Int64 // Stats.Claims, ClaimsLost, Extends, ExtendFailures

	wake chan struct{}      // capacity 1: look again
	wg   sync.WaitGroup     // the goroutine, and the helper of confirm
	stop context.CancelFunc // ends the goroutine and its call of the authority

	// Owned by the constructor, then by the goroutine, and by release after it ended.
	claim    assigner.Claim
	since    time.Time     // when the claim was made
	pace     time.Duration // the least time from since to the next claim
	length   time.Duration // how far ahead Extend asks for; set when the claim is made
	ahead    time.Duration // how much of the window is left when it is to be extended
	stuck    time.Time     // since when extensions leave the window's end where it is; zero: none
	reminded time.Time     // when the log last said that extending fails
}

// newKeeper makes the first claim. It blocks until the assigner answers or ctx ends, and starts no
// goroutine.
func newKeeper(ctx context.Context, a assigner.Assigner, o *Options, l *timeline, layout string,
	c *clock) (*keeper, error) {
	if a == nil {
		return nil, fmt.Errorf("%w: the assigner is nil", ErrOptions)
	}
	authority := ""
	if s, ok := a.(fmt.Stringer); ok {
		authority = s.String()
	}
	if b, ok := a.(assigner.LayoutBinder); ok {
		a = b.BindLayout(layout)
	}
	k := &keeper{timeline: l, assigner: a, authority: authority, clock: c,
		journal: &journal{logger: o.Logger}, noReassign: o.NoReassign,
		wake: make(chan struct{}, 1), stop: func() {}}
	if err := k.assign(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// assign makes a claim and publishes its window. A claim whose worker id the layout cannot hold is
// released at once. On an error the old claim, if there is one, is still the keeper's. A lost claim
// is not released: it has nothing to give back.
func (k *keeper) assign(ctx context.Context) error {
	c, err := k.assigner.Assign(ctx, k.timeline.maxWorker)
	if err != nil {
		return fmt.Errorf("uid: assigning a worker id: %w", err)
	}
	w, err := newWindow(k.timeline, c)
	if err != nil {
		return errors.Join(err, c.Release(ctx, time.Time{}))
	}
	// Each claim doubles the least time to the next one, until a claim has lasted. An extension
	// does not count as lasting: in a storm of losses every claim may be extended once.
	k.pace = max(2*k.pace, keeperBackoffMin)
	if time.Since(k.since) >= keeperBackoffMax {
		k.pace = 0
	}
	k.claim, k.since = c, time.Now()
	k.made.Add(1)
	k.length, k.stuck = k.measure(ctx, w), time.Time{}
	w.extended = k.clock.now()
	k.publish(w)
	k.reportClaim(w)
	return nil
}

// publish makes w the window that is composed under. It is to be extended when half of the window
// is left, or up to an eighth earlier, so that the processes of a fleet do not extend all at once.
// So an outage of the authority may last for half of a window at any time without a missing id. w
// is complete here: nothing changes it after the Store.
func (k *keeper) publish(w *window) {
	w.renew = w.end
	if !w.until.IsZero() {
		k.ahead = k.length/2 + k.jitter(k.length/8+1)
		w.renew = k.timeline.at(w.until.Add(-k.ahead))
	}
	k.window.Store(w)
}

// jitter returns a duration in [0, d) that differs from process to process: a hash of worker id and
// time, so that a simulation that is run again is the same.
func (k *keeper) jitter(d time.Duration) time.Duration {
	return time.Duration(mix(mix(uint64(k.claim.Worker()))^uint64(time.Now().UnixNano())) % uint64(
		d))
}

// run starts the goroutine, if there is something for it to do: the claim has an end, so it is to
// be extended, or the claim tells the time, so it can confirm a jump of the clock.
func (k *keeper) run() {
	_, tells := k.claim.(assigner.Clock)
	if k.window.Load().until.IsZero() && !tells {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	k.wg.Go(func() { k.loop(ctx) })
}

// kick asks the keeper to look at the window and the clock. It never blocks.
func (k *keeper) kick() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// release ends the goroutine, gives the claim's rest back and closes the journal; used is the end
// of the last tick that may have been stamped. It blocks for releaseTimeout at most, longer only
// for a claim or a log handler that does not honour its ctx or does not return. A lost claim has
// nothing to give back, which is no error.
func (k *keeper) release(used time.Time) error {
	k.stop()
	k.wg.Wait()
	defer k.journal.close()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := k.claim.Release(ctx, used); errors.Is(err, assigner.ErrClaimLost) {
		return nil
	} else if err != nil {
		return fmt.Errorf("uid: giving the worker id back: %w", err)
	}
	k.journal.log(func(l *slog.Logger) {
		l.Info("worker id given back", known("worker", k.claim.Worker(), "used", used)...)
	})
	return nil
}

// loop maintains the claim until ctx ends. It sleeps until the window is to be extended. A kick
// wakes it earlier, when a burst has brought the position there, unless an attempt has failed: then
// the back-off alone decides when the next one is made. Each pause is spread at random between half
// and one and a half of the back-off, so that a fleet which lost its authority does not come back
// as one.
func (k *keeper) loop(ctx context.Context) {
	backoff := time.Duration(0)
	timer := time.NewTimer(k.pause())
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-k.wake:
			if backoff > 0 {
				continue // the timer paces the attempts, however many callers wait
			}
		}
		switch err := k.maintain(ctx); {
		case err == nil:
			backoff = 0
			timer.Reset(max(keeperPauseMin, k.pause()))
			continue
		case errors.Is(err, errNotGrown): // the authority answers, so the pause does not double
			backoff = keeperBackoffMin
		default:
			backoff = min(max(2*backoff, keeperBackoffMin), keeperBackoffMax)
		}
		timer.Reset(backoff/2 + k.jitter(backoff))
	}
}

// forever is the largest duration.
const forever = time.Duration(1<<63 - 1)

// maintain extends or replaces the claim if that is due, and has a held clock confirmed. It returns
// an error if extending or replacing has to be tried again soon. A confirmation is not retried
// here: pause has the loop look again while the clock is held.
func (k *keeper) maintain(ctx context.Context) (err error) {
	w := k.window.Load()
	if k.due() == 0 || w.err != nil {
		attempt, cancel := context.WithTimeout(ctx, keeperAttempt)
		defer cancel()
		if w.lost {
			err = k.reassign(attempt)
		} else {
			err = k.extend(attempt, w)
		}
	}
	k.report()
	if c, ok := k.claim.(assigner.Clock); ok && k.clock.jump() > 0 {
		k.confirm(ctx, c)
	}
	return err
}

// extend moves the window's end, or publishes why it cannot. w is the window that is extended. It
// asks from what the window has to stay ahead of, so a burst gets as much time ahead of it as a
// quiet generator ahead of the clock.
func (k *keeper) extend(ctx context.Context, w *window) error {
	_, err := k.claim.Extend(ctx, k.needs().Add(k.length))
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
	k.stuck = time.Time{}
	k.extends.Add(1)
	next.extended = k.clock.now()
	if next.end < k.timeline.end() && !next.extended.Before(k.timeline.time(next.end)) {
		next.failing = w.failing
		return k.fail(ctx, next, errBehind)
	}
	k.install(w, next)
	return nil
}

// install publishes next in place of w after an extension. changed comes after the store, so that a
// caller that it wakes finds next.
func (k *keeper) install(w, next *window) {
	k.publish(next)
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
	// The authority's error is asked here and nowhere else, without a lock: see claimError.
	lost := errors.Is(err, assigner.ErrClaimLost)
	why := claimError{kind: ErrClaimExpired, cause: err}
	switch {
	case lost && k.noReassign:
		why.kind, why.final = ErrClaimLost, true
		why.text = fmt.Sprintf("%v: worker id %d: %v", errGivenUp, w.worker, err)
	case errors.Is(err, ErrSuperseded):
		why.kind = ErrSuperseded
		why.text = fmt.Sprintf("uid: worker id %d stops at %v: %v", w.worker, w.until, err)
	case lost:
		why.kind = ErrClaimLost
		why.text = fmt.Sprintf("uid: worker id %d: %v", w.worker, err)
	default:
		why.text = fmt.Sprintf("%v: worker id %d could not be extended beyond %v: %v", why.kind,
			w.worker, w.until, err)
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
	if k.noReassign {
		return nil
	}
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
