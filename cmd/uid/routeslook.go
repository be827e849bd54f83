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
func (r *routed) look(ctx context.Context, tag string, home int) (found []int, ends, sure bool) {
	rows, errs := make([]segment.Row, len(r.all)), make([]error, len(r.all))
	var wg sync.WaitGroup
	for i := range r.all {
		wg.Go(func() { rows[i], errs[i] = r.find(ctx, i, tag, i == home) })
	}
	wg.Wait()
	sure = true
	for i, err := range errs {
		switch {
		case err == nil && rows[i].Next < math.MaxInt64:
			found = append(found, i)
		case err == nil:
			ends = true
		case errors.Is(err, segment.ErrUnknownTag):
		default:
			sure = false
			if unlogged, ok := r.away.Pass(time.Now()); ok {
				r.logger.Warn("uid: a database does not say whether it has a tag", "database",
					r.all[i].place, "tag", tag, "error", err, "unlogged", unlogged)
			}
		}
	}
	return found, ends, sure
}

// find looks for a tag in one database.
func (r *routed) find(ctx context.Context, i int, tag string, home bool) (segment.Row, error) {
	if !home {
		r.mu.Lock()
		until := r.silent[i]
		r.mu.Unlock()
		if time.Now().Before(until) {
			return segment.Row{}, errSilent
		}
		bounded, cancel := context.WithTimeout(ctx, lookTime)
		defer cancel()
		ctx = bounded
	}
	row, err := r.all[i].Find(ctx, tag)
	if err != nil && r.made(ctx, i, err) {
		row, err = r.all[i].Find(ctx, tag)
	}
	if !home && err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		r.mu.Lock()
		r.silent[i] = time.Now().Add(quietTime)
		r.mu.Unlock()
	}
	return row, err
}

// made makes the table of a database that was away at a check and has answered since, if err says
// that it is missing. It reports whether it has.
func (r *routed) made(ctx context.Context, i int, err error) bool {
	one := r.all[i]
	r.mu.Lock()
	late := r.late[i]
	r.mu.Unlock()
	if !late || one.db.Failure(err) != sqldb.Missing {
		return false
	}
	if err := one.create(ctx); err != nil {
		if unlogged, ok := r.away.Pass(time.Now()); ok {
			r.logger.Warn("uid: a database of --routes has no table of the tags", "database",
				one.place, "error", err, "unlogged", unlogged)
		}
		return false
	}
	r.mu.Lock()
	delete(r.late, i)
	r.mu.Unlock()
	return true
}
