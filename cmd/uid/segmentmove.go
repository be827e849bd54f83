package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

type segmentMoveCmd struct {
	Tag         string `arg:"" help:"The tag."`
	sourceFlags `embed:""`
	To          string `required:"" placeholder:"DSN" help:"The database that the tag moves to."`
	Yes         bool   `help:"Move it. Without it nothing is changed."`
}

// Help says when the command may be run.
func (*segmentMoveCmd) Help() string {
	return "Puts the tag's counter in the database of --dsn at its end, and goes on with it in " +
		"that of --to. Servers that route both go on meanwhile. Run again it goes on where it " +
		"stopped: name --to in the same words. Once the tag has moved on from there, it is refused."
}

// Run moves the tag, or says what would be done.
func (c *segmentMoveCmd) Run(ctx context.Context, p *program) error {
	if c.Source == "ticket" {
		return usagef("--source ticket has no tags to move: all of a server share its counter")
	}
	s, err := dsn.Parse(c.To)
	if err != nil {
		return usagef("--to: %w", err)
	}
	p.redactor.Secret(s.Secrets...)
	return c.use(ctx, p, func(ctx context.Context, db *gorm.DB, here dsn.Source) (err error) {
		if here.Place == s.Place {
			return usagef("--to names %s, which the tag is in", s.Place)
		}
		other, err := s.Open(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Place, err)
		}
		defer func() { err = errors.Join(err, dsn.Close(other)) }()
		from, _, err := c.source(p, db)
		if err != nil {
			return err
		}
		to, _, err := c.source(p, other)
		if err != nil {
			return err
		}
		if !c.Yes {
			return c.dry(ctx, p, from, s.Place)
		}
		for _, db := range []*gorm.DB{db, other} {
			if err := sqlsource.Migrate(ctx, db, c.table(), "segment_moved"); err != nil {
				return err
			}
		}
		row, err := sqltable.Move(ctx, c.Tag, from, to, s.Place)
		if errors.Is(err, segment.ErrOptions) {
			return usageError{err}
		}
		if err != nil {
			return withHint(err)
		}
		_, err = fmt.Fprintf(p.out, "-- moved: the next id is %d, in %s\n", row.Next, s.Place)
		return err
	})
}

// dry says what would be done.
func (c *segmentMoveCmd) dry(
	ctx context.Context, p *program, from segment.Source, place string,
) error {
	finder, ok := from.(segment.Finder)
	if !ok {
		return usagef("--source %s has no tags to move", c.Source)
	}
	row, err := finder.Find(ctx, c.Tag)
	if err != nil {
		return withHint(err)
	}
	if row.Next == math.MaxInt64 {
		_, err = fmt.Fprintf(p.out, "-- a dry run: the counter is at its end; --yes finishes the "+
			"move to %s, if it moves there\n", place)
		return err
	}
	_, err = fmt.Fprintf(p.out, "-- a dry run: nothing is changed; --yes moves the tag, whose "+
		"next id is %d, to %s\n", row.Next, place)
	return err
}
