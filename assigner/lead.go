package assigner

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/internal/backoff"
)

// patience bounds how long one Extend waits for the clock, well within the time that a generator
// gives an authority.
const patience = 5 * time.Second

// leadClaim is a claim that remembers nothing and still begins after the claim before it has ended,
// as long as the clock does not go back between the two.
//
// Let limit(t) be the start of t's step plus the lead. limit never falls as t grows. A claim that
// is made at s begins at limit(s) and ends, at any time t, at limit(t) or earlier. A claim that
// is made later, at s2 >= t, begins at limit(s2) >= limit(t), where every window of the first one
// has ended. So the window is empty at first, and Assign waits for the next step.
//
//	clock    ──┬─────s─┬───────┬───────┬──►   steps
//	           └─────── lead ───────┐
//	window                          [from ... until)   until moves on with each step
type leadClaim struct {
	boundedClaim

	lead, step time.Duration
	now        func() time.Time
}

// newLeadClaim waits until the window is not empty, which takes a step at most.
func newLeadClaim(ctx context.Context, lead, step time.Duration, now func() time.Time,
	worker int64, release func()) (*leadClaim, error) {
	c := &leadClaim{boundedClaim: boundedClaim{worker: worker, release: release}, lead: lead,
		step: step, now: now}
	c.from = c.limit(now())
	c.until = c.from
	for until := c.from; !until.After(c.from); {
		var err error
		if until, err = c.Extend(ctx, c.from.Add(step)); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Extend moves the window's end to until, or to the limit if that is earlier. At the limit it waits
// for the clock's next step.
func (c *leadClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	if err := c.extend(ctx, until); err != nil {
		return time.Time{}, fmt.Errorf("assigner: extending worker id %d: %w", c.worker, err)
	}
	return c.until, nil
}

func (c *leadClaim) extend(ctx context.Context, until time.Time) error {
	if c.released {
		return errReleased
	}
	for begin := time.Now(); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		now := c.now()
		limit := c.limit(now)
		left := patience - time.Since(begin)
		if limit.After(c.until) || !until.After(c.until) || left <= 0 {
			// A clock that is far ahead for a moment makes the window no longer than was asked for.
			if limit.Before(until) {
				until = limit
			}
			c.extendTo(until)
			return nil
		}
		if back := c.until.Sub(limit); back > c.step {
			return fmt.Errorf("the clock went back: it is %v behind the time at which the window "+
				"reached %v", back, c.until)
		}
		backoff.Wait(ctx, min(left, now.Truncate(c.step).Add(c.step).Sub(now)))
	}
}

// Release frees the worker id for this process. There is no authority to give the window back to.
func (c *leadClaim) Release(context.Context, time.Time) error {
	c.released = true
	c.release()
	return nil
}

// limit returns the latest end that a window may have at time t.
func (c *leadClaim) limit(t time.Time) time.Time { return t.UTC().Truncate(c.step).Add(c.lead) }
