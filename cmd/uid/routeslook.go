package main

import (
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// A database that the list does not name for a tag has lookTime to say whether it has it. After one
// that kept silent the next are not asked for quietTime, so that it stops its own tags only.
const lookTime, quietTime = time.Second, 5 * time.Second

var errSilent = errors.New("it kept silent a moment ago")

// look looks for a tag in all databases, of which the list names home. It returns those where it
// has ids left, whether it is at its end in one, and whether all have answered.
func (r *routed) look(
	ctx context.Context, tag string, home *route,
) (found []*route, ends, sure bool) {
	rows, errs := make([]segment.Row, len(r.all)), make([]error, len(r.all))
	var wg sync.WaitGroup
	for i, one := range r.all {
		wg.Go(func() { rows[i], errs[i] = r.find(ctx, one, tag, one == home) })
	}
	wg.Wait()
	sure = true
	for i, err := range errs {
		switch {
		case err == nil && rows[i].Next < math.MaxInt64:
			found = append(found, r.all[i])
		case err == nil:
			ends = true
		case errors.Is(err, segment.ErrUnknownTag):
		default:
			sure = false
			r.away.Logger(r.logger).Warn("uid: a database does not say whether it has a tag",
				"database", r.all[i].place, "tag", tag, "error", err)
		}
	}
	return found, ends, sure
}

// find looks for a tag in one database.
func (r *routed) find(
	ctx context.Context, one *route, tag string, home bool,
) (segment.Row, error) {
	if !home {
		if until := one.silent.Load(); until != nil && time.Now().Before(*until) {
			return segment.Row{}, errSilent
		}
		bounded, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		ctx = bounded
	}
	row, err := one.Find(ctx, tag)
	if err != nil && r.made(ctx, one, err) {
		row, err = one.Find(ctx, tag)
	}
	if !home && err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		until := time.Now().Add(quietTime)
		one.silent.Store(&until)
	}
	return row, err
}

// made makes the table of a database that was away at a check and has answered since, if err says
// that it is missing. It reports whether it has.
func (r *routed) made(ctx context.Context, one *route, err error) bool {
	if !one.late.Load() || one.db.Failure(err) != sqldb.Missing {
		return false
	}
	if err := one.create(ctx); err != nil {
		r.away.Logger(r.logger).Warn("uid: a database of --routes has no table of the tags",
			"database", one.place, "error", err)
		return false
	}
	one.late.Store(false)
	return true
}
