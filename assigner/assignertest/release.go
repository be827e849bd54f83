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
		c, err := e.process().Assign(ctx, e.maxWorker)
		if err != nil {
			return fmt.Errorf("Assign: %w", err)
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
	if _, err := e.process().Assign(ctx, e.maxWorker); err != nil {
		return fmt.Errorf("Assign after releases: %w", err)
	}
	return nil
}

// checkExtendAfterRelease: what was given back cannot be extended, for someone else may have it.
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

// checkReuse: whoever gets a released worker id begins where its last owner ended, or later.
func checkReuse(ctx context.Context, e env) error {
	var rec recorder
	for range reuses {
		c, err := e.process().Assign(ctx, e.maxWorker)
		if err != nil {
			return fmt.Errorf("Assign: %w", err)
		}
		used := stamped(c)
		if err := c.Release(ctx, used); err != nil {
			return fmt.Errorf("Release: %w", err)
		}
		rec.addUsed(c, used)
	}
	return rec.overlap()
}

// checkReuseUnused: giving a whole window back leaves alone what was stamped before it.
func checkReuseUnused(ctx context.Context, e env) error {
	var rec recorder
	for i := range reuses {
		c, err := e.process().Assign(ctx, e.maxWorker)
		if err != nil {
			return fmt.Errorf("Assign: %w", err)
		}
		var used time.Time
		if i%2 == 0 {
			used = stamped(c)
			rec.addUsed(c, used)
		}
		if err := c.Release(ctx, used); err != nil {
			return fmt.Errorf("Release: %w", err)
		}
	}
	return rec.overlap()
}

// checkStaleRelease: an owner that releases once more, when its worker id has a new owner, takes nothing from that one.
func checkStaleRelease(ctx context.Context, e env) error {
	var rec recorder
	stale, err := e.process().Assign(ctx, e.maxWorker)
	if err != nil {
		return fmt.Errorf("Assign: %w", err)
	}
	used := stamped(stale)
	if err := stale.Release(ctx, used); err != nil {
		return fmt.Errorf("Release: %w", err)
	}
	rec.addUsed(stale, used)
	for range reuses {
		c, err := e.process().Assign(ctx, e.maxWorker)
		if err != nil {
			return fmt.Errorf("Assign: %w", err)
		}
		rec.add(c)
		if err := stale.Release(ctx, used); err != nil {
			return fmt.Errorf("Release once more: %w", err)
		}
	}
	return rec.overlap()
}

// stamped returns the end of what was stamped, inside the window of c, and before the present where the window reaches back that
// far: then the worker id is free again at once.
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
