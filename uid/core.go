package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// core is what both generators stand on: the timeline, the claim and its keeper, the clock, and the
// gate at which callers wait. Its fields do not change after newCore. It starts no goroutine of its
// own.
type core struct {
	timeline *timeline
	eras     *bitsalloc.Eras
	opts     Options // with its defaults filled in
	clock    *clock
	keeper   *keeper

	closed atomic.Bool // set once, by Close
	gate   gate        // opened after every change that a waiting caller may be waiting for

	// Changed only by calls that wait or fail. waited is in nanoseconds.
	waits, waited                             atomic.Int64 // Stats.Waits, Waited
	rejEmpty, rejLead, rejClaim, rejExhausted atomic.Int64 // Stats.RejectsEmpty and so on
}

// newCore checks the options, reads the clock and makes the first claim. It blocks until the
// assigner answers or ctx ends. Everything that can be refused without a claim is refused before
// it, so that a bad option uses up no worker id. The keeper does not run yet: the generator sets
// its front, changed and blocked, and then calls its run.
func newCore(ctx context.Context, a assigner.Assigner, o *Options, read readClocks) (*core, error) {
	opts, eras, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &core{timeline: newTimeline(eras, opts.seqStart), eras: eras, opts: opts,
		clock: newClock(read, maxJump)}
	now := c.clock.now()
	if l := opts.Layout; now.Before(l.Epoch) {
		return nil, badOption("Layout.Epoch", l.Epoch, "an instant before now, %v", now.UTC())
	}
	if c.timeline.at(now) == c.timeline.end() {
		return nil, c.timeline.exhausted()
	}
	c.keeper, err = newKeeper(ctx, a, &opts, c.timeline, eras.String(), c.clock)
	if err != nil {
		return nil, err
	}
	// Only the claim tells where its window begins, so this comes after it, and releases it.
	if w := c.keeper.window.Load(); w.from >= c.timeline.end() { // the window has no tick, ever
		err := c.timeline.exhausted()
		err = fmt.Errorf("%w, and the claim's window begins at %v", err, w.start)
		return nil, errors.Join(err, c.keeper.release(time.Time{}))
	}
	return c, nil
}

// exhausted returns the error that says when the time bits end: those of the last era.
func (l *timeline) exhausted() error {
	a := l.eras[len(l.eras)-1].alloc
	return fmt.Errorf("%w: the layout %v ends at %v", ErrExhausted, a.Layout(), a.Expires())
}

// reportJump logs a jump of the clock that is held back, once, and has the keeper ask the claim's
// authority about it. It is not called under a lock. It is cheap where there is no jump: one load.
func (c *core) reportJump() {
	if c.clock.report() {
		jump := c.clock.jump()
		if jump == 0 {
			return // it is over already
		}
		c.keeper.journal.log(func(l *slog.Logger) {
			l.Warn("clock jumped ahead and is held back", "jump", jump)
		})
		c.keeper.kick()
	}
}

// permits returns what forbids composing in the tick of pos, nil if nothing does. Permanent bounds
// come first: a generator that is closed and too far ahead says that it is closed. It is a function
// of its arguments but for closed, so a caller that holds no lock gets an answer about the window
// and the time that it has looked at.
func (c *core) permits(w *window, pos uint64, now time.Time) error {
	if c.closed.Load() {
		return ErrClosed
	}
	// The window's bounds last longer than the lead's, which the clock ends.
	if err := c.timeline.covers(w, pos); err != nil {
		return err
	}
	return c.leads(pos, now)
}

// leads returns ErrLead if MaxLead, in whole ticks, forbids the tick of pos at now. It compares
// instants, because ticks of two eras may have different lengths, and with the clock's instant, not
// with the start of its tick: where an era cuts a tick off, that era's first tick begins later.
// MaxLead 0 is no bound.
func (c *core) leads(pos uint64, now time.Time) error {
	if c.opts.MaxLead > 0 && c.timeline.time(pos).After(now.Add(c.maxLead(pos))) {
		return ErrLead
	}
	return nil
}

// maxLead returns MaxLead in whole ticks of the era of pos.
func (c *core) maxLead(pos uint64) time.Duration {
	return c.opts.MaxLead.Truncate(c.timeline.tickOf(pos))
}

// untilLead returns how long it takes until MaxLead permits the tick of pos, and at least 100 µs,
// so that a timer for it does not spin. It is an estimate by the believed clock: a caller looks
// again after it.
func (c *core) untilLead(pos uint64) time.Duration {
	return max(minInterval/10, c.timeline.time(pos).Add(-c.maxLead(pos)).Sub(c.clock.now()))
}

// wait blocks until ready is closed, ctx ends or, if d is positive, d has passed. ready comes from
// gate.wait, called before the caller looked at what it waits for. After nil the caller looks
// again; an error wraps that of ctx. No lock is held. It is the only place in the package where a
// call for an id blocks, but for locks that are held for a few instructions and for a TakeFunc.
func (c *core) wait(ctx context.Context, ready <-chan struct{}, d time.Duration) error {
	c.waits.Add(1)
	// The machine's clock, not Options.Clock: how long a caller waited is a fact about the process.
	begin := time.Now()
	defer func() { c.waited.Add(int64(time.Since(begin))) }()
	// nil without a bound: a receive from it blocks forever, so the select has two cases left.
	var expired <-chan time.Time
	if d > 0 {
		expired = time.After(d)
	}
	select {
	case <-ready:
		return nil
	case <-expired:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("uid: waiting for an id: %w", ctx.Err())
	}
}

// refuse applies the take policy to a caller that found no id. It returns nil, perhaps after a
// wait, if the caller should try again, and otherwise the error that the caller's call fails with.
// d bounds a wait, 0 for no bound. What each reason leads to, in this order:
//
//	ErrExhausted, ErrClosed       the error, whatever the policy is
//	any other, with a TakeFunc    what the function says
//	lost, expired, superseded     the error: a wait could last for hours
//	any other                     TakeReject: the error; else a wait
//
// The reasons left for a wait are ErrLead, which ends with the clock, ErrEmpty, which ends with the
// padder, and errExtending, which ends with the answer of the authority or becomes ErrClaimExpired.
func (c *core) refuse(ctx context.Context, reason error, ready <-chan struct{},
	d time.Duration) error {
	switch kind := kindOf(reason); {
	case kind == ErrExhausted:
		c.rejExhausted.Add(1)
		return reason
	case kind == ErrClosed:
		return reason
	case c.opts.TakeFunc != nil:
		// errExtending is of this package alone; a function that compares reasons must never see
		// it.
		if reason == errExtending {
			reason = ErrEmpty // what the caller would get without the function
		}
		if err := c.opts.TakeFunc(ctx, reason); err != nil {
			_ = c.reject(reason) // counted; the function has the error
			return err
		}
		// A function that always returns nil must not keep a caller whose ctx has ended.
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%w: %w: %w", errCtxEnded, reason, err)
		}
		return nil
	case kind == assigner.ErrClaimLost, kind == ErrClaimExpired, kind == assigner.ErrSuperseded:
		return c.reject(reason)
	// TakePad waits here too: its caller has tried to compose, and the reason is what forbade it.
	case c.opts.TakePolicy != TakeReject:
		return c.wait(ctx, ready, d)
	default:
		return c.reject(reason)
	}
}

// reject counts a call that fails for a reason, and returns the error that it fails with: the
// reason, or ErrEmpty for a reason that is not for callers, such as errExtending. Each call counts
// once.
func (c *core) reject(reason error) error {
	switch kindOf(reason) {
	case assigner.ErrClaimLost, ErrClaimExpired, assigner.ErrSuperseded:
		c.rejClaim.Add(1)
	case ErrLead:
		c.rejLead.Add(1)
	default:
		c.rejEmpty.Add(1)
		return ErrEmpty
	}
	return reason
}

// sameKind reports whether two bounds are of one kind; nil stands for no bound. A waiting caller
// has nothing to learn from a bound of the same kind, so the gate stays closed: otherwise each
// caller that tries to compose would wake all others. ErrClosed is never the same as another: Close
// opens the gate itself, and once more does no harm. It is called under the composer's lock.
func sameKind(a, b error) bool {
	// Permanent ones are of a kind: a bound that stays must not open the gate at every attempt.
	kind := kindOf(a)
	return kind == kindOf(b) && kind != ErrClosed
}

// Parse takes an id of this generator's layout, or of one of its eras, apart. It does not check
// that the generator made it.
func (c *core) Parse(id ID) Parts { return ParseParts(c.eras.Of(int64(id)), id) }
