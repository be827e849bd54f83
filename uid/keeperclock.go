package uid

import (
	"context"
	"log/slog"
	"time"

	"github.com/uidring/uidring/assigner"
)

// measureTimeout bounds the question what time it is, when a claim is made. It is short, because
// the constructor waits for it, and an answer is a refinement only: without it the local clock
// decides how long the first window counts for.
const measureTimeout = time.Second

// aheadUnlogged is how far ahead of the clock a claim may begin without a log line, or four ticks
// where those are longer. It is beyond the default lead of claims that begin ahead by design.
const aheadUnlogged = time.Minute

// measure returns how long a claim's windows are, if the claim says so. Else it is how much of a
// new claim's window is left, by told, the clock of its authority, if that is not zero, because the
// local clock may differ. It is the length that every extension asks for, and two ticks at the
// least: a shorter window has no whole tick to stamp. A window without an end is not extended.
//
//	             begin: now, or start if that is later
//	start          │                         until
//	──┼────────────┼───────────────────────────┼───►  time
//	               └───────── measure ─────────┘
//
// A wrong answer costs time, not uniqueness: the generator extends too early or too late.
func (k *keeper) measure(w *window, told time.Time) time.Duration {
	if span := k.span(); span > 0 {
		return max(2*k.timeline.tick, span)
	}
	begin := told
	if begin.IsZero() {
		begin = k.clock.now()
	}
	// A window may begin long ago, where the window of the last owner ended, or ahead of the clock.
	if w.start.After(begin) {
		begin = w.start
	}
	// Without a Span the first window's length counts as that of all.
	left := w.until.Sub(begin)
	if left <= 0 && !w.start.IsZero() {
		left = w.until.Sub(w.start) // passed by this clock: its length is the best guess
	}
	return max(2*k.timeline.tick, left)
}

// reportClaim logs a new claim, and whether its window is over, or begins far ahead of the clock:
// an earlier owner's clock was ahead, or the clock is behind. Ids carry the window's time until the
// clock has caught up.
func (k *keeper) reportClaim(w *window) {
	k.journal.log(func(l *slog.Logger) {
		args := known("worker", w.worker, "from", w.start, "until", w.until)
		if !w.until.IsZero() && !w.until.After(w.extended) {
			l.Warn("worker id claimed, and its window is over: is the clock ahead of the "+
				"authority's?", args...)
			return
		}
		l.Info("worker id claimed", args...)
	})
	ahead := w.start.Sub(w.extended)
	if ahead <= aheadUnlogged || ahead/4 <= k.timeline.tick {
		return
	}
	k.journal.log(func(l *slog.Logger) {
		l.Warn("claim begins ahead of the clock", "worker", w.worker, "from", w.start, "ahead",
			ahead)
	})
}

// tell returns the authority's time, the zero time if the claim does not tell it.
func (k *keeper) tell(ctx context.Context) time.Time {
	c, ok := k.claim.(assigner.Clock)
	if !ok {
		return time.Time{}
	}
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	k.asked = time.Now()
	var t time.Time
	err := k.ask(ctx, "Now", func() (err error) {
		t, err = c.Now(ctx)
		return err
	})
	if err != nil {
		return time.Time{} // t may be set at any time
	}
	return t
}

// span returns the length of a new window, 0 if the claim does not say it.
func (k *keeper) span() time.Duration {
	if w, ok := k.claim.(assigner.Windowed); ok {
		return w.Span()
	}
	return 0
}

// confirm has a jump of the clock confirmed by the claim's authority. An authority that does not
// answer, or does not agree, leaves the jump held back. Extending is more urgent: a kick ends the
// question, and the next turn repeats it.
//
// It holds no lock while it asks. The helper ends with the question, at the latest when the answer
// is there, and release waits for it like for the keeper's own goroutine.
func (k *keeper) confirm(ctx context.Context, c assigner.Clock) {
	ctx, cancel := context.WithTimeout(ctx, keeperAttempt)
	defer cancel()
	answered := make(chan struct{})
	// The keeper's goroutine is in c.Now, so another one listens for the kick and ends the
	// question. If the window is to be extended, pause lets the loop look again at once.
	k.wg.Go(func() {
		select {
		case <-k.wake:
			cancel()
		case <-answered:
		}
	})
	var t time.Time
	err := k.ask(ctx, "Now", func() (err error) {
		t, err = c.Now(ctx)
		return err
	})
	close(answered)
	if err == nil && k.clock.confirm(t) {
		k.changed()
		k.journal.log(func(l *slog.Logger) {
			l.Warn("clock jump confirmed by the claim's authority", "time", t)
		})
	}
}

// idle is for an extension that succeeded and left the window's end where it was, or moved it back:
// next is the window now. That is no failure while the window lasts, because the authority may let
// it grow in time. It is one when ids stop for it: when the window is over, or when a burst has
// used it up for as long as an attempt may take. A claim that bounds its lead is the usual case:
// its window grows with the clock, and a burst waits for it.
func (k *keeper) idle(ctx context.Context, w, next *window) error {
	if k.stuck.IsZero() {
		k.stuck = time.Now()
	}
	next.extended = w.extended
	end := k.timeline.time(next.end)
	// From the window's last tick on, so that calls learn of it before they find no id. An
	// attempt's length of patience keeps a window that grows by steps, and that a burst uses up
	// between two of them, from being called stuck.
	usedUp := !k.needs().Before(end) && time.Since(k.stuck) >= keeperAttempt
	if usedUp || !k.clock.now().Before(end) {
		next.failing = w.failing
		return k.fail(ctx, next, errStuck)
	}
	k.install(w, next, forever)
	return errNotGrown
}

// pause returns how long the keeper may sleep: until the window is to be extended, or a jump of the
// clock wants another turn. An hour is the longest, because the wall clock may be set meanwhile and
// a timer does not notice.
func (k *keeper) pause() time.Duration {
	longest := time.Hour
	if k.clock.jump() > 0 {
		longest = keeperBackoffMax
		if k.again {
			longest = keeperSlow
		}
	}
	return min(longest, k.due())
}

// due returns how long it takes until the window is to be extended: 0 when that moment has passed,
// forever when there is nothing to extend. It counts from what the window has to stay ahead of,
// which a burst moves faster than the clock: the composer kicks the keeper when it gets there.
func (k *keeper) due() time.Duration {
	w := k.window.Load()
	if w.until.IsZero() {
		return forever
	}
	left := w.until.Sub(k.needs())
	if left <= k.least {
		return 0
	}
	return max(0, left-k.ahead, time.Until(k.rest))
}

// needs returns the latest of now, the front, and the end of the window's first tick: what the
// window has to stay ahead of. Under a burst the front is ahead of the clock, while the position of
// an idle generator lags behind it, and behind a window that begins ahead of the clock.
func (k *keeper) needs() time.Time {
	latest := k.timeline.time(k.timeline.next(k.window.Load().from))
	for _, t := range [...]time.Time{k.clock.now(), k.front()} {
		if t.After(latest) {
			latest = t
		}
	}
	return latest
}
