package assignertest

import (
	"context"
	"time"

	"github.com/uidring/uidring/assigner"
)

// reuses is how many claims are made in search of one that gets a released worker id.
const reuses = 5

// checkReleaseTwice: releasing twice is releasing once, whatever was stamped.
func checkReleaseTwice(ctx context.Context, e env) {
	for _, some := range []bool{true, false} {
		c := e.assign(ctx)
		var used time.Time
		if some {
			used = stamped(c)
		}
		release(ctx, c, used)
		if err := c.Release(ctx, used); err != nil {
			failf("Release(%v), call 2: %w", used, err)
		}
	}
	e.assign(ctx)
}

// checkExtendAfterRelease: what was given back cannot be extended, because another claim may have
// it.
func checkExtendAfterRelease(ctx context.Context, e env) {
	c, ok := e.bounded(ctx)
	if !ok {
		return
	}
	_, until := c.Window()
	release(ctx, c, stamped(c))
	if got, err := c.Extend(ctx, until.Add(time.Hour)); err == nil {
		failf("Extend after Release = %v, want an error", got)
	}
}

// checkReuse: the next owner of a released worker id begins where the last one ended, or later.
func checkReuse(ctx context.Context, e env) {
	for range reuses {
		c := e.assign(ctx)
		release(ctx, c, stamped(c))
	}
}

// checkReuseUnused: giving a whole window back does not give back what was stamped before it.
func checkReuseUnused(ctx context.Context, e env) {
	for i := range reuses {
		c := e.assign(ctx)
		var used time.Time
		if i%2 == 0 {
			used = stamped(c)
		}
		release(ctx, c, used)
	}
}

// checkStaleRelease: an owner that releases again takes nothing from its worker id's new owner.
func checkStaleRelease(ctx context.Context, e env) {
	stale := e.assign(ctx)
	used := stamped(stale)
	release(ctx, stale, used)
	for range reuses {
		c := e.assign(ctx)
		release(ctx, stale, used)
		e.makeRoom(ctx, c)
	}
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
