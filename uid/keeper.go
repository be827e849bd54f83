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

const (
	keeperPauseMin = 10 * time.Millisecond // between two checks that the timer causes

	// Bounds of the pause after an attempt that failed: see backOff.
	keeperBackoffMin   = 100 * time.Millisecond
	keeperBackoffFirst = 600 * time.Millisecond // for as long as a fail-over takes
	keeperBackoffMax   = 10 * time.Second

	// The pause after the authority has granted less than it was asked for, or has said that the
	// window would end beyond its reach, at the least: asking again at once changes nothing.
	keeperSlow = time.Second

	keeperAttempt  = 10 * time.Second // bound of one call of the authority
	releaseTimeout = 5 * time.Second  // bound of Close's call of the authority
	keeperReminder = 5 * time.Minute  // between two log lines that say the same
)

// keeper owns the claim: it extends the window well before its end, claims a new worker id when the
// old one is lost, and has a held clock confirmed. Its one goroutine has one call of the claim made
// at a time, see ask, and it runs only if there is something to keep. Composing reads window and
// nothing else, so the keeper costs nothing per id.
//
// window.err is the claim's state:
//
//	held       nil               until Extend fails, or does not return in time
//	failing    ErrClaimExpired   until Extend succeeds: held, or says ErrClaimLost: lost
//	too far    ErrLead           the same, where Extend says ErrBeyondReach
//	lost       ErrClaimLost      until Assign succeeds: held
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
	timeline  *timeline
	assigner  assigner.Assigner
	authority string // what the assigner says it is, or empty
	clock     *clock
	journal   *journal
	front     func() time.Time // the end of the tick that the generator composes next
	changed   func()           // called after every change of window, without a lock
	blocked   func() error     // Stats.Err

	// Stored by the constructor and then by the goroutine alone. Each window is immutable.
	window atomic.Pointer[window]

	made, lost, extends, failures atomic.Int64 // Stats.Claims, ClaimsLost, Extends, ExtendFailures

	wake chan struct{}      // capacity 1: look again
	wg   sync.WaitGroup     // the goroutine, and the helper of confirm
	stop context.CancelFunc // ends the goroutine and its call of the authority

	// Owned by the constructor, then by the goroutine, and by release after it ended.
	calls // of claim and assigner

	claim    assigner.Claim
	spare    chan assigner.Claim // capacity 1: what an Assign returned
	since    time.Time           // when the claim was made
	pace     time.Duration       // the least time from since to the next claim
	length   time.Duration       // how far ahead Extend asks for; set when the claim is made
	ahead    time.Duration       // how much of the window is left when it is to be extended
	least    time.Duration       // the same of a window that is shorter than what was asked for
	rest     time.Time           // before which such a window is not extended with more left
	stuck    time.Time           // since when extensions leave the window's end as is; zero: none
	slow     time.Duration       // the least pause to the next extension, after one that succeeded
	asked    time.Time           // when the authority was last asked what time it is
	again    bool                // it is to be asked again soon
	reminded time.Time           // when the log last said that extending fails
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
		journal: &journal{logger: o.Logger},
		wake:    make(chan struct{}, 1), spare: make(chan assigner.Claim, 1), stop: func() {}}
	made := false
	defer k.abandon(&made)
	if err := k.assign(ctx); err != nil {
		return nil, err
	}
	made = true
	return k, nil
}

// abandon gives the claim back that a constructor has made and does not return with, because a
// Clock of the user's has panicked. It is deferred.
func (k *keeper) abandon(made *bool) {
	if !*made && k.claim != nil {
		_ = k.release(time.Time{}) // nothing was stamped; the panic says more than this error
	}
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
// for a log handler that does not return. A call of the authority that is out then stays behind, as
// does its goroutine, and the error says so. A lost claim has nothing to give back, which is no
// error.
func (k *keeper) release(used time.Time) error {
	k.stop()
	k.wg.Wait()
	defer k.journal.close()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if k.out != nil {
		select {
		case <-k.out.back:
		case <-ctx.Done():
		}
	}
	if len(k.spare) > 0 { // it came too late to be used, and the one before it is lost
		k.claim, used = <-k.spare, time.Time{}
	}
	err := k.ask(ctx, "Release", func() error { return k.claim.Release(ctx, used) })
	if errors.Is(err, assigner.ErrClaimLost) {
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
// wakes it earlier, when a burst has brought the position there, but not before next: after an
// attempt that failed the back-off alone decides when the next one is made, and after a window that
// is shorter than what was asked for, slow does, however many callers wait. Each pause of the
// back-off is spread at random between half and one and a half of it, so that a fleet which lost
// its authority does not come back as one.
func (k *keeper) loop(ctx context.Context) {
	backoff, next := time.Duration(0), time.Time{}
	var failing time.Time // since when attempts have failed; zero: the last one did not
	timer := time.NewTimer(k.pause())
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			select {
			case <-k.wake: // one turn is enough for both
			default:
			}
		case <-k.wake:
			if wait := time.Until(next); wait > 0 {
				timer.Reset(wait)
				continue
			}
		}
		if ctx.Err() != nil { // Done was ready as well, and select takes any
			return
		}
		switch err := k.maintain(ctx); {
		case err == nil:
			backoff, failing, next = 0, time.Time{}, time.Now().Add(k.slow)
			timer.Reset(max(keeperPauseMin, k.slow, k.pause()))
			continue
		case errors.Is(err, errNotGrown): // the authority answers, so the pause does not double
			backoff = keeperBackoffMin
		case errors.Is(err, assigner.ErrBeyondReach): // nor here: the clocks are what has to change
			backoff = 2 * keeperSlow
		case errors.Is(err, errBehind):
			backoff = min(max(2*backoff, 2*keeperSlow), keeperBackoffMax)
		default:
			if failing.IsZero() {
				failing = time.Now()
			}
			backoff = backOff(backoff, time.Since(failing))
		}
		pause := backoff/2 + k.window.Load().jitter(backoff)
		next = time.Now().Add(pause)
		timer.Reset(pause)
	}
}

// backOff returns the pause after an attempt that failed; last is the one before it, and failing
// how long attempts have failed. The pause doubles to 0.6 s, so that none is above a second and the
// next primary of a database is found soon. Then it grows with the outage, to a sixtieth of it and
// ten seconds at the most: of a fleet with windows of 20 minutes a tenth has begun to ask after a
// minute, so the database is asked no more often than by the whole fleet later on.
func backOff(last, failing time.Duration) time.Duration {
	most := min(max(failing/60, keeperBackoffFirst), keeperBackoffMax)
	return min(max(2*last, keeperBackoffMin), most)
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
		// Kicks may be many, and an answer is as good for a second.
		if k.again = time.Since(k.asked) < keeperSlow; !k.again {
			k.asked = time.Now()
			k.confirm(ctx, c)
		}
	}
	return err
}
