package uid

import (
	"fmt"
	"log/slog"
	"time"
)

// stopLines is the least time from a log line that ids are back to one that they have stopped: a
// clock that goes back and forth, or a generator at its bound, writes two lines a second at most.
const stopLines = time.Second

// blocked returns Stats.Err: why no id can be handed out, or nil. It asks for the tick that the
// next batch would be composed in, so its answer is that of a call which finds lanes and ring
// empty. It composes nothing and moves nothing, so Stats and probes may call it as often as they
// like.
//
// The position is read before the ring, and the ring before the lanes. The other
// way round, others could compose runs and hand them out in between, and an old look would be
// judged by a new position; or a run could move from the ring to a lane that was looked at.
//
// It takes no lock of the composer, because a caller that composes must not wait for a probe. So
// pos may be out of date. It is then too low, and as positions only grow, a bound that it meets is
// met by the newer one too.
func (c *Cached) blocked() error {
	if c.closed.Load() {
		return ErrClosed
	}
	p, w := c.composer, c.keeper.window.Load()
	pos := p.pos.Load()
	if p.ring.Len() > 0 || c.held() != nil {
		return nil
	}
	now := c.clock.now()
	pos = p.upcoming(w, pos, now)
	return c.lasting(c.permits(w, pos, now), pos, c.untilLead(pos))
}

// startWait is how long a Default may wait for its clock because a claim began ahead of it: a claim
// that bounds its lead begins up to three seconds ahead by default, and a burst uses these up at
// once. Beyond it the ids are too far ahead.
const startWait = 5 * time.Second

// blocked returns Stats.Err: what a call would fail with now, or wait for beyond the next tick,
// unless it waits because its claim began ahead of the clock. It asks after, which looks and takes
// nothing.
func (d *Default) blocked() error {
	last := d.last.Load()
	if last == closedPosition {
		return ErrClosed
	}
	pos, wait, err := d.after(last, d.keeper.window.Load())
	newest := uint64(last)
	if err == nil && wait > d.timeline.tickOf(newest) { // before the first id no call waits
		tick := newest &^ d.timeline.of(newest).tickMask
		switch began := tick <= d.ahead.Load(); {
		case began && wait > startWait:
			err = ErrLead
		// Where an era cuts a tick off, the next tick may be further than one away.
		case !began && tick > d.timeline.at(d.clock.now()):
			err = &clockBackError{By: wait, Bound: d.opts.rollback.bound}
		}
	}
	return d.lasting(err, pos, wait)
}

// lasting returns err, which forbids ids of the tick of pos for wait, or nil if a call just waits
// it out: for the next tick at MaxLead, or for an extension of the claim that is under way. An
// ErrLead that lasts gets the instant, to the second, at which the clock permits ids again.
func (c *core) lasting(err error, pos uint64, wait time.Duration) error {
	if err == errExtending {
		c.keeper.kick() // a clock that was set may have brought it about, which no timer notices
		return nil
	}
	if err == ErrLead {
		if wait <= c.timeline.tickOf(pos) {
			return nil
		}
		// An instant and not a duration, so that the text is the same for as long as the reason is.
		until := c.clock.now().Add(wait).Round(time.Second)
		return fmt.Errorf("%w until it shows %s", err, until.UTC().Format(time.RFC3339))
	}
	return err
}

// refused is for a call that finds no id: if ids have stopped, the log says so, once. The load
// keeps it cheap for calls that find out again and again; report decides.
func (k *keeper) refused() {
	if !k.journal.halted() {
		k.report()
	}
}

// resumed is for a call that made ids, once a batch or a tick: if the log says that ids have
// stopped, it says that they are back.
func (k *keeper) resumed() {
	if k.journal.halted() {
		k.report()
	}
}

// report logs whether ids have stopped or are back, if the log's last word is another one. No lock
// is held, so others may make ids between the check and the line, and find that the log needs no
// line of theirs. Hence the second check, after the line is queued: a call that makes ids after
// that sees halted. Or others may log between the two, which makes the check an old one.
func (k *keeper) report() {
	seen := k.journal.halts.Load()
	err := k.blocked()
	if err == ErrClosed || err != nil && k.starting(err) {
		return
	}
	worker := k.window.Load().worker
	again := k.journal.halt(seen, err != nil, func(l *slog.Logger) {
		if err != nil {
			l.Error("ids have stopped", "worker", worker, "error", err)
		} else {
			l.Info("ids are back", "worker", worker)
		}
	})
	if again {
		k.report()
	}
}

// starting reports whether ids have not stopped but are still to begin, with the first claim. Env
// and StatefulSet claim from their Lead ahead of the clock, which a shorter MaxLead waits for. The
// log has a line for a claim that begins far ahead.
func (k *keeper) starting(err error) bool {
	if k.made.Load() != 1 {
		return false
	}
	w := k.window.Load()
	ahead := w.start.Sub(k.clock.now())
	first := k.timeline.time(k.timeline.next(w.from)) // the end of the first tick
	none := !k.front().After(first)
	return ahead > 0 && (ahead <= startWait || none && kindOf(err) == ErrLead)
}
