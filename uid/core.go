package uid

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// core is what both generators stand on: the layout, the claim and its keeper, the clock, and the gate at which callers
// wait. Its fields do not change after newCore.
type core struct {
	alloc  *bitsalloc.Allocator
	opts   Options // with its defaults filled in
	clock  *clock
	keeper *keeper

	timeShift uint // of the tick within an id

	closed   atomic.Bool  // set once, by Close
	gate     gate         // opened after every change that a waiting caller may be waiting for
	waits    atomic.Int64 // Stats.Waits
	rejLead  atomic.Int64 // Stats.RejectsLead
	rejEmpty atomic.Int64 // Stats.RejectsEmpty
}

// newCore checks the options, makes the first claim and reads the clock. The keeper does not run yet: its position
// and changed are the generator's to set.
func newCore(ctx context.Context, a assigner.Assigner, o *Options, read func() (time.Time, time.Duration)) (*core, error) {
	opts, alloc, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	l := opts.Layout
	c := &core{alloc: alloc, opts: opts, timeShift: uint(l.WorkerBits + l.SeqBits + l.GeneBits)}
	c.clock = newClock(read, opts.MaxJump, func(jump time.Duration) {
		c.opts.Logger.Warn("clock jumped ahead and is held back", "jump", jump)
		if c.keeper != nil { // a jump during the first claim comes before it; run looks at the clock anyway
			c.keeper.kick()
		}
	})
	now := c.clock.now()
	if tick := alloc.TickAt(now); tick < 0 {
		return nil, badOption("Layout.Epoch", opts.Layout.Epoch, "an instant before the present, %v", now.UTC())
	} else if tick > alloc.MaxTick() {
		return nil, fmt.Errorf("%w: the layout %v ended at %v", ErrExhausted, opts.Layout, alloc.Expires())
	}
	c.keeper, err = newKeeper(ctx, a, &opts, alloc, c.clock)
	if err != nil {
		return nil, err
	}
	if g := c.keeper.grant.Load(); g.from > alloc.MaxTick() {
		err := fmt.Errorf("%w: the claim's window begins at %v, the layout %v ends at %v", ErrExhausted, g.start, opts.Layout, alloc.Expires())
		return nil, errors.Join(err, c.keeper.release(time.Time{}))
	}
	return c, nil
}

// firstOf returns the lowest id that any worker may stamp in tick, or the highest number when the time bits do not hold it.
func (c *core) firstOf(tick int64) int64 {
	if tick > c.alloc.MaxTick() {
		return 1<<63 - 1
	}
	return tick << c.timeShift
}

// nowTick returns the tick of the present, or the grant's first tick if that is later.
func (c *core) nowTick(g *grant) int64 { return max(c.alloc.TickAt(c.clock.now()), g.from) }

// leadTicks returns the highest tick that MaxLead permits at present.
func (c *core) leadTicks() int64 {
	if c.opts.MaxLead == 0 {
		return c.alloc.MaxTick() + 1
	}
	// Both are at most 1<<63 - 1, and a present that far ahead is refused elsewhere.
	lead := uint64(max(0, c.alloc.TickAt(c.clock.now()))) + uint64(c.opts.MaxLead/c.opts.Layout.Tick)
	return int64(min(lead, uint64(c.alloc.MaxTick()+1)))
}

// wait blocks until ready is closed, ctx ends or, if d is positive, d has passed. Ready comes from gate.wait, taken
// before the caller looked at what it waits for.
func (c *core) wait(ctx context.Context, ready <-chan struct{}, d time.Duration) error {
	c.waits.Add(1)
	var expired <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		expired = t.C
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

// refuse gives a caller who found no id what the take policy has for the reason: it waits and returns nil if another try is
// worthwhile, or returns the caller's error.
func (c *core) refuse(ctx context.Context, reason error, ready <-chan struct{}, d time.Duration) error {
	switch {
	case errors.Is(reason, ErrExhausted):
		return reason
	case c.opts.TakeFunc != nil:
		if reason == errExtending {
			reason = ErrEmpty
		}
		if err := c.opts.TakeFunc(ctx, reason); err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("uid: no id: %w: %w", reason, err)
		}
		return nil
	case errors.Is(reason, ErrClaimLost), errors.Is(reason, ErrClaimExpired):
		return reason
	case c.opts.TakePolicy != Reject:
		return c.wait(ctx, ready, d)
	case errors.Is(reason, ErrLead):
		c.rejLead.Add(1)
		return reason
	default:
		c.rejEmpty.Add(1)
		return ErrEmpty
	}
}

// sameKind reports whether two bounds are of one kind, so that nobody is woken to find what was there before.
func sameKind(a, b error) bool {
	if a == nil || b == nil {
		return a == b
	}
	for _, kind := range []error{ErrLead, ErrExhausted, ErrClaimLost, ErrClaimExpired, errExtending} {
		if errors.Is(a, kind) || errors.Is(b, kind) {
			return errors.Is(a, kind) && errors.Is(b, kind)
		}
	}
	return false
}

// Parse takes an id of this generator's layout apart. It does not check that the generator made the id.
func (c *core) Parse(id ID) Parts { return ParseParts(c.alloc, id) }
