package main

import (
	"context"
	"math"

	"github.com/uidring/uidring/segment"
)

// listed adds a list of tags to a source that has none.
type listed struct {
	segment.Source
	tags []string
}

// List returns the tags. Their counters are not known, so Next is the highest that they can be.
func (l listed) List(ctx context.Context) ([]segment.Row, error) {
	var rows []segment.Row
	for _, tag := range l.tags {
		rows = append(rows, segment.Row{Tag: tag, Next: math.MaxInt64})
	}
	return rows, ctx.Err()
}

// Check checks the source.
func (l listed) Check(ctx context.Context) error {
	if c, ok := l.Source.(segment.Checker); ok {
		return c.Check(ctx)
	}
	return nil
}
