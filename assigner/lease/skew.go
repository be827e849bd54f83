package lease

import (
	"context"
	"fmt"
	"time"
)

// SkewError says that Assign refused because the local clock is further from the store's than
// Options.MaxSkew. One of the two is wrong. It is permanent until that clock is set.
type SkewError struct {
	Local, Store time.Time     // the two clocks at one time, UTC
	MaxSkew      time.Duration // Options.MaxSkew
}

// Error says how far the clocks are apart and what the bound is.
func (e *SkewError) Error() string {
	skew, side := e.Local.Sub(e.Store), "ahead of"
	if skew < 0 {
		skew, side = -skew, "behind"
	}
	return fmt.Sprintf("the local clock, %v, is %v %s the store's, %v, MaxSkew is %v: one of the "+
		"two clocks is wrong", e.Local, skew, side, e.Store, e.MaxSkew)
}

// compareClocks refuses a local clock that is further from the store's than MaxSkew, once for each
// Assign. The store tells its time between two readings of the local clock, and the nearer one
// counts: a store that answers slowly makes no clock wrong.
func (c *claimer) compareClocks(ctx context.Context) error {
	if c.compared || c.space.options.MaxSkew == 0 {
		return nil
	}
	first := c.space.local().UnixMilli()
	now, err := c.space.now(ctx)
	if err != nil {
		return err
	}
	local := min(max(now, first), c.space.local().UnixMilli())
	c.compared = true
	if skew := local - now; max(skew, -skew) <= c.space.options.MaxSkew.Milliseconds() {
		return nil
	}
	e := &SkewError{time.UnixMilli(local).UTC(), time.UnixMilli(now).UTC(), c.space.options.MaxSkew}
	c.space.options.Logger.Error("clock refused", "place", place(c.space.store), "local", e.Local,
		"store", e.Store, "max_skew", e.MaxSkew)
	return e
}
