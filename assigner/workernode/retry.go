package workernode

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// attemptTimeout bounds one attempt, so that a connection into a black hole is given up for a new one.
	attemptTimeout = 10 * time.Second

	// Pauses double from the first to the last, and each is cut at random to between half and all of it: a fleet that lost
	// its database together must not come back in step.
	firstPause = 20 * time.Millisecond
	lastPause  = 3 * time.Second
)

// retry calls do until it succeeds, until it fails for good, or until ctx ends. The error says what was being done and where, and
// wraps ctx's error if that is why it ended.
func (d *database) retry(ctx context.Context, what string, do func(context.Context) error) error {
	var last error
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		if ctx.Err() != nil {
			return d.gaveUp(ctx, what, last)
		}
		err := d.attempt(ctx, do)
		if err == nil {
			return nil
		}
		if f, ok := errors.AsType[*finalError](err); ok {
			return f.error
		}
		if ctx.Err() != nil {
			return d.gaveUp(ctx, what, last)
		}
		if d.classify(err) != transient {
			return d.refused(what, err)
		}
		if last == nil && d.logger != nil {
			d.logger.Warn("waiting for the database", "doing", what, "place", d.place, "error", err)
		}
		last = err
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
	}
}

// attempt calls f once, with a time limit.
func (d *database) attempt(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return f(ctx)
}

// gaveUp is the error of an operation whose ctx ended; last is the last thing that went wrong before, if anything did.
func (d *database) gaveUp(ctx context.Context, what string, last error) error {
	if last == nil {
		return fmt.Errorf("workernode: %s: %s: %w", what, d.place, ctx.Err())
	}
	return fmt.Errorf("workernode: %s: %s is not available: %w; last error: %w", what, d.place, ctx.Err(), last)
}

// refused is the error of an operation that would fail again.
func (d *database) refused(what string, err error) error {
	if advice := d.classify(err).advice(); advice != "" {
		return fmt.Errorf("workernode: %s: %s: %w (%s)", what, d.place, err, advice)
	}
	return fmt.Errorf("workernode: %s: %s: %w", what, d.place, err)
}

// errLate asks for another attempt: what was read is not what was there when it was to be changed.
var errLate = errors.New("the row changed under way")

// classify says what err means, be it the database's or errLate.
func (d *database) classify(err error) failure {
	if errors.Is(err, errLate) {
		return transient
	}
	return d.dialect.classify(err)
}

// finalError is an error of this package's own, not the database's, that another attempt would not change. It ends retry, and
// nobody outside sees it.
type finalError struct{ error }

func final(format string, args ...any) error { return &finalError{fmt.Errorf(format, args...)} }
