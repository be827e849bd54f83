package sqltable

import (
	"context"
	"math"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// Reading is a LeafAlloc with a Fetch that always reads the row first, as one without a step does.
func Reading(leafAlloc segment.Source) segment.Source {
	t, _ := leafAlloc.(*table)
	return reading{t}
}

// MoveWith is Move with a function that is called after each step. An error of the function ends it.
var MoveWith = move

// Unbounded is a Ticket without the bound at the start of a plan: it trusts the servers' settings.
func Unbounded(tickets segment.Source) segment.Source {
	t, _ := tickets.(*ticket)
	return unbounded{t}
}

type unbounded struct{ *ticket }

func (u unbounded) Fetch(ctx context.Context, tag string, step int64) (r segment.Range, err error) {
	for _, s := range u.order() {
		if err = u.check(ctx, s); err != nil {
			continue
		}
		err = s.update(ctx, func(c *sqldb.Conn) error {
			first, k, err := s.replace(ctx, c, tag, step)
			if err == nil {
				k.from, k.below = 0, math.MaxInt64
				r, err = s.rangeFrom(first, step, k)
			}
			return err
		})
		if s.rest(err); err == nil {
			break
		}
	}
	return r, err
}

type reading struct{ *table }

func (l reading) Fetch(ctx context.Context, tag string, step int64) (r segment.Range, err error) {
	if err := checkFetch(tag, step, l.maxTag); err != nil {
		return r, err
	}
	err = l.do(ctx, func(c *sqldb.Conn) (err error) {
		r, err = l.claimRead(ctx, c, tag, step)
		return err
	})
	return r, err
}

// Tables returns the names of the tables.
func Tables() []string { return tables() }
