package claimtest

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/winlog"
)

// memoryClaim is a claim on a row.
type memoryClaim struct {
	m        *Memory
	row      *row
	token    int64
	layout   string
	window   winlog.Window // guarded by m.mu
	released bool          // guarded by m.mu
}

func (c *memoryClaim) Worker() int64 { return c.window.Worker }

func (c *memoryClaim) Window() (from, until time.Time) {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return c.window.From, c.window.Until
}

func (c *memoryClaim) Span() time.Duration {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	return c.m.Span
}

func (c *memoryClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	var end time.Time
	err := c.m.call(ctx, Call{Op: OpExtend, Worker: c.Worker(), Asked: until}, func() error {
		if c.released || c.row.token != c.token {
			return fmt.Errorf("%w: worker id %d has another owner", assigner.ErrClaimLost,
				c.Worker())
		}
		cut, err := c.m.compare(c.layout)
		if err != nil {
			return err
		}
		if c.m.Grant != nil {
			until = c.m.Grant(until)
		}
		if grows := until.After(c.row.until); grows && !cut.IsZero() && until.After(cut) {
			if until = cut; !until.After(c.row.until) {
				return errSuperseded(cut)
			}
		}
		if !c.row.until.IsZero() && until.After(c.row.until) {
			c.row.until = until.UTC().Round(0)
		}
		end = c.row.until
		return nil
	})
	if err != nil {
		return time.Time{}, err
	}
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	c.window.Until = end
	c.m.log.Put(c.window)
	return end, nil
}

func (c *memoryClaim) Release(ctx context.Context, used time.Time) error {
	return c.m.call(ctx, Call{Op: OpRelease, Worker: c.Worker(), Asked: used}, func() error {
		if c.released || c.row.token != c.token {
			return nil
		}
		c.released, c.row.owned = true, false
		end := c.window.From
		if used.After(end) {
			end = used.UTC().Round(0)
		}
		if c.row.until.IsZero() || end.Before(c.row.until) {
			c.row.until = end
		}
		stamped := c.window
		switch {
		case !end.After(stamped.From):
			stamped.Until = stamped.From.Add(-1) // empty, and not the zero time
		case stamped.Until.IsZero() || end.Before(stamped.Until):
			stamped.Until = end
		}
		c.m.log.Put(stamped)
		return nil
	})
}

// memoryClock is a claim that tells the time.
type memoryClock struct{ *memoryClaim }

func (c memoryClock) Now(ctx context.Context) (now time.Time, err error) {
	err = c.m.call(ctx, Call{Op: OpNow, Worker: c.Worker()}, func() error {
		now = c.m.now()
		return nil
	})
	return now, err
}
