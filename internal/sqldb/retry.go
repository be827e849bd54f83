package sqldb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/backoff"
)

const (
	// attemptTimeout bounds one attempt, so that a connection that gets no answer is replaced by a
	// new one.
	attemptTimeout = 10 * time.Second

	// The pause doubles from the first to the last. Each is shortened by up to half at random, so
	// that processes that lost the database together do not retry together.
	firstPause = 20 * time.Millisecond
	lastPause  = 3 * time.Second
)

// ErrChanged says that a row changed between a read and the change that depends on it. Another
// attempt may succeed.
var ErrChanged = errors.New("the row was changed concurrently")

// finalError is an error that another attempt would not change. Retry returns the error inside.
type finalError struct{ error }

// Unwrap returns the error inside.
func (e *finalError) Unwrap() error { return e.error }

// Final returns an error that makes Retry stop and return err.
func Final(err error) error { return &finalError{err} }

// Retry calls do until it succeeds, until it returns an error that is not transient, or until ctx
// ends, with growing pauses. Each call has a time limit. The error names the operation, what, and
// the database. It wraps ctx's error if ctx ended.
func (d *DB) Retry(ctx context.Context, what string, do func(context.Context) error) error {
	return d.retry(ctx, what, 0, do)
}

// Few is Retry for a caller that has its own schedule of retries: it calls do at most three times.
func (d *DB) Few(ctx context.Context, what string, do func(context.Context) error) error {
	return d.retry(ctx, what, 3, do)
}

// retry calls do at most tries times; 0 means no limit.
func (d *DB) retry(ctx context.Context, what string, tries int,
	do func(context.Context) error) error {
	n := 0
	err := backoff.Retry(ctx, firstPause, func() (time.Duration, error) {
		n++
		err := attempt(ctx, do)
		var f *finalError
		if err == nil || errors.As(err, &f) {
			return 0, err
		}
		err = d.broken(err)
		if ctx.Err() != nil {
			return lastPause, err
		}
		if n == tries || d.Failure(err) != Transient {
			return 0, &finalError{d.refused(what, err)}
		}
		if n == 1 && d.logger != nil && tries == 0 {
			d.logger.Warn("waiting for the database", "doing", what, "place", d.place, "error", err)
		}
		return lastPause, err
	})
	var f *finalError
	if errors.As(err, &f) {
		return f.error
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %s: %w", d.name, what, d.place, err)
	}
	return nil
}

// Judge returns an error of an attempt as Retry would: without Final, and with advice where another
// attempt would fail as well. again reports whether another attempt may succeed.
func (d *DB) Judge(err error) (_ error, again bool) {
	var f *finalError
	if errors.As(err, &f) {
		return f.error, false
	}
	if err = d.broken(err); d.Failure(err) == Transient {
		return err, true
	}
	return fmt.Errorf("%w%s", err, d.advice(err)), false
}

// broken says what an error does not: MySQL's driver returns driver.ErrBadConn, where the pool's
// configuration has RejectReadOnly, when it is told to read only.
func (d *DB) broken(err error) error {
	switch {
	case errors.Is(err, driver.ErrBadConn):
		return fmt.Errorf("%w: the connection broke, or the server or the session is read-only",
			err)
	case d.ReadOnly(err):
		return fmt.Errorf("%w: the server is read-only, as a replica is, or the session", err)
	}
	return err
}

// attempt calls f once, with a time limit.
func attempt(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return f(ctx)
}

// refused returns the error of an operation that would fail again, with advice.
func (d *DB) refused(what string, err error) error {
	return fmt.Errorf("%s: %s: %s: %w%s", d.name, what, d.place, err, d.advice(err))
}

// advice returns what the operator can do about an error, in brackets.
func (d *DB) advice(err error) string {
	switch d.Failure(err) {
	case Missing:
		name, _, _ := strings.Cut(d.name, ":") // without what of the package it is
		return fmt.Sprintf(" (create the tables with %s.Migrate, or from the DDL of package sql)",
			name)
	case Denied:
		return " (check the account; it needs SELECT, INSERT and UPDATE on the tables, and " +
			"CREATE for Migrate)"
	}
	return ""
}
