package lease

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrSkew says that Assign refused because the local clock is further from the store's than
// Options.MaxSkew. One of the two is wrong; the message has both. It is permanent until that clock
// is set.
var ErrSkew = errors.New("lease: one of two clocks is wrong")

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
	skew := local - now
	if max(skew, -skew) <= c.space.options.MaxSkew.Milliseconds() {
		return nil
	}
	side := "ahead of"
	if skew < 0 {
		side = "behind"
	}
	here, there := time.UnixMilli(local).UTC(), time.UnixMilli(now).UTC()
	c.space.options.Logger.Error("clock refused", "place", place(c.space.store), "local", here,
		"store", there, "max_skew", c.space.options.MaxSkew)
	return fmt.Errorf("%w: the local one, %v, is %v %s the store's, %v, MaxSkew is %v", ErrSkew,
		here, here.Sub(there).Abs(), side, there, c.space.options.MaxSkew)
}
