package sqldb

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// attemptTimeout bounds one attempt, so that a connection into a black hole is given up for a
	// new one.
	attemptTimeout = 10 * time.Second

	// Pauses double from the first to the last, and each is cut at random to between half and all
	// of it: a fleet that lost its database together must not come back in step.
	firstPause = 20 * time.Millisecond
	lastPause  = 3 * time.Second
)

// ErrChanged asks for another attempt: what was read is not what was there when it was to be
// changed.
var ErrChanged = errors.New("the row changed under way")

// finalError is an error that another attempt would not change. Retry unwraps it.
type finalError struct{ error }

// Unwrap returns the error that the caller gets.
func (e *finalError) Unwrap() error { return e.error }

// Final returns an error that ends Retry, which then returns err.
func Final(err error) error { return &finalError{err} }

// Retry calls do until it succeeds, until it fails for good, or until ctx ends, with growing
// pauses. The error says what was being done and where, and wraps ctx's error if that is why it
// ended.
func (d *DB) Retry(ctx context.Context, what string, do func(context.Context) error) error {
	return d.retry(ctx, what, 0, do)
}

// Few is Retry for a caller with a schedule of its own: do is called three times at most.
func (d *DB) Few(ctx context.Context, what string, do func(context.Context) error) error {
	return d.retry(ctx, what, 3, do)
}

// retry calls do at most so many times, 0 for no limit.
func (d *DB) retry(ctx context.Context, what string, tries int,
	do func(context.Context) error) error {
	var last error
	pause := firstPause
	for n := 1; ; n++ {
		if ctx.Err() != nil {
			return d.gaveUp(ctx, what, last)
		}
		err := attempt(ctx, do)
		if err == nil {
			return nil
		}
		if f, ok := errors.AsType[*finalError](err); ok {
			return f.error
		}
		if ctx.Err() != nil {
			if last == nil && !errors.Is(err, ctx.Err()) {
				last = err
			}
			return d.gaveUp(ctx, what, last)
		}
		if n == tries || d.Failure(err) != Transient {
			return d.refused(what, err)
		}
		if last == nil && d.logger != nil && tries == 0 {
			d.logger.Warn("waiting for the database", "doing", what, "place", d.place, "error", err)
		}
		last = err
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		pause = min(2*pause, lastPause)
	}
}

// attempt calls f once, with a time limit.
func attempt(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return f(ctx)
}

// gaveUp is the error of an operation whose ctx ended; last is the last thing that went wrong
// before, if anything did.
func (d *DB) gaveUp(ctx context.Context, what string, last error) error {
	if last == nil {
		return fmt.Errorf("%s: %s: %s: %w", d.name, what, d.place, ctx.Err())
	}
	return fmt.Errorf("%s: %s: %s is not available: %w; last error: %w",
		d.name, what, d.place, ctx.Err(), last)
}

// refused is the error of an operation that would fail again, with what to do about it.
func (d *DB) refused(what string, err error) error {
	advice := ""
	switch d.Failure(err) {
	case Missing:
		advice = fmt.Sprintf(" (create the tables with %s.Migrate, or from the DDL of package sql)",
			d.name)
	case Denied:
		advice = " (check the account; it needs SELECT, INSERT and UPDATE on the tables, and " +
			"CREATE for Migrate)"
	}
	return fmt.Errorf("%s: %s: %s: %w%s", d.name, what, d.place, err, advice)
}
