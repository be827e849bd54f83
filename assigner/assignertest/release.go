package assignertest

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
)

// reuses is how many claims are made in search of one that gets a released worker id.
const reuses = 5

// checkReleaseTwice: releasing twice is releasing once, whatever was stamped.
func checkReleaseTwice(ctx context.Context, e env) error {
	for _, some := range []bool{true, false} {
		c, err := e.assign(ctx)
		if err != nil {
			return err
		}
		var used time.Time
		if some {
			used = stamped(c)
		}
		for n := range 2 {
			if err := c.Release(ctx, used); err != nil {
				return fmt.Errorf("Release(%v), call %d: %w", used, n+1, err)
			}
		}
	}
	_, err := e.assign(ctx)
	return err
}

// checkExtendAfterRelease: what was given back cannot be extended, because another claim may have
// it.
func checkExtendAfterRelease(ctx context.Context, e env) error {
	c, ok, err := bounded(ctx, e)
	if err != nil || !ok {
		return err
	}
	_, until := c.Window()
	if err := c.Release(ctx, stamped(c)); err != nil {
		return fmt.Errorf("Release: %w", err)
	}
	if got, err := c.Extend(ctx, until.Add(time.Hour)); err == nil {
		return fmt.Errorf("Extend after Release = %v, want an error", got)
	}
	return nil
}

// checkReuse: the next owner of a released worker id begins where the last one ended, or later.
func checkReuse(ctx context.Context, e env) error {
	for range reuses {
		c, err := e.assign(ctx)
		if err != nil {
			return err
		}
		used := stamped(c)
		if err := c.Release(ctx, used); err != nil {
			return fmt.Errorf("Release: %w", err)
		}
	}
	return nil
}

// checkReuseUnused: giving a whole window back does not give back what was stamped before it.
func checkReuseUnused(ctx context.Context, e env) error {
	for i := range reuses {
		c, err := e.assign(ctx)
		if err != nil {
			return err
		}
		var used time.Time
		if i%2 == 0 {
			used = stamped(c)
		}
		if err := c.Release(ctx, used); err != nil {
			return fmt.Errorf("Release: %w", err)
		}
	}
	return nil
}

// checkStaleRelease: an owner that releases again takes nothing from its worker id's new owner.
func checkStaleRelease(ctx context.Context, e env) error {
	stale, err := e.assign(ctx)
	if err != nil {
		return err
	}
	used := stamped(stale)
	if err := stale.Release(ctx, used); err != nil {
		return fmt.Errorf("Release: %w", err)
	}
	for range reuses {
		c, err := e.assign(ctx)
		if err != nil {
			return err
		}
		if err := stale.Release(ctx, used); err != nil {
			return fmt.Errorf("Release once more: %w", err)
		}
		if err := e.makeRoom(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// stamped returns an end of what was stamped that lies inside the window of c. It lies before the
// current time if the window reaches back that far, so that the worker id is free at once.
func stamped(c assigner.Claim) time.Time {
	from, until := c.Window()
	now := time.Now()
	switch {
	case until.IsZero() && from.IsZero():
		return now
	case until.IsZero() || until.After(now) && from.Before(now):
		until = now
	}
	if from.IsZero() {
		return until.Add(-time.Second)
	}
	return from.Add(until.Sub(from) / 2)
}
