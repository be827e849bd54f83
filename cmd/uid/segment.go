package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	ddl "github.com/uidring/uidring/sql"
)

type segmentCmd struct {
	Init   segmentInitCmd   `cmd:"" help:"Create the tables that are missing."`
	List   segmentListCmd   `cmd:"" help:"List the tags, their counters and what is left."`
	Set    segmentSetCmd    `cmd:"" help:"Make a tag, or change its step or raise its counter."`
	Next   segmentNextCmd   `cmd:"" help:"Take ids of a tag."`
	Delete segmentDeleteCmd `cmd:"" help:"Delete a tag, or show what would be lost."`
	Move   segmentMoveCmd   `cmd:"" help:"Move a tag to another database, or show what would be done."`
	Expand segmentExpandCmd `cmd:"" help:"Add ticket servers while they are in use, or show how."`
}

// sourceFlags name the table that ranges come from.
type sourceFlags struct {
	dsnFlags `embed:""`
	Source   string   `enum:"leaf,sequence,ticket" default:"leaf" help:"leaf (table leaf_alloc), sequence (t_sequence) or ticket (REPLACE INTO ticket)."`
	Server   []string `placeholder:"DSN" help:"Another ticket server, after the one of --dsn, in their order. May be repeated."`
}

// source returns the Source on db, and the other servers of a set, which the caller closes with
// closeServers, also after an error.
func (f *sourceFlags) source(
	p *program, db *gorm.DB,
) (src segment.Source, others []*gorm.DB, err error) {
	switch {
	case f.Source != "ticket" && len(f.Server) > 0:
		return nil, nil, usagef("--server is for --source ticket")
	case f.Source == "sequence":
		return sqlsource.Sequence(db, nil), nil, nil
	case f.Source == "ticket":
		others, _, err := ticketServers(p, f.Server)
		return sqlsource.Ticket(append([]*gorm.DB{db}, others...), nil), others, err
	default:
		return sqlsource.LeafAlloc(db, nil), nil, nil
	}
}

// with opens the database and calls do with the Source on it. The embedded database gets its tables
// first.
func (f *sourceFlags) with(
	ctx context.Context, p *program, do func(context.Context, segment.Source) error,
) error {
	return f.use(ctx, p, func(ctx context.Context, db *gorm.DB, s dsn.Source) (err error) {
		if s.Embedded {
			if err := sqlsource.Migrate(ctx, db); err != nil {
				return err
			}
		}
		src, others, err := f.source(p, db)
		defer func() { err = errors.Join(err, closeServers(others)) }()
		if err != nil {
			return err
		}
		return withHint(do(ctx, src))
	})
}

// tagTable is a Source with a row for each tag, as leaf and sequence are.
type tagTable interface {
	segment.Periods
	segment.Lister
	segment.Finder
	segment.Setter
	segment.Deleter
	segment.Returner
	segment.Checker
}

// tags is with for a tagTable. lacks is what ticket servers do not have.
func (f *sourceFlags) tags(
	ctx context.Context, p *program, lacks string, do func(context.Context, tagTable) error,
) error {
	return f.with(ctx, p, func(ctx context.Context, src segment.Source) error {
		t, ok := src.(tagTable)
		if !ok {
			return usagef("--source %s has no %s", f.Source, lacks)
		}
		return do(ctx, t)
	})
}

// withHint adds to an error about a missing table or tag how to make it.
func withHint(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, segment.ErrUnknownTag) {
		return fmt.Errorf(`%w; "uid segment set TAG --step N" makes a tag`, err)
	}
	if sqldb.Lacks(err) {
		return fmt.Errorf(`%w; "uid segment init" makes the tables that are missing`, err)
	}
	return err
}

type segmentInitCmd struct {
	dsnFlags `embed:""`
}

// Run makes the tables.
func (c *segmentInitCmd) Run(ctx context.Context, p *program) error {
	return c.use(ctx, p, func(ctx context.Context, db *gorm.DB, s dsn.Source) error {
		if err := sqlsource.Migrate(ctx, db); err != nil {
			return err
		}
		for _, table := range ddl.Tables() {
			if !strings.HasPrefix(table, "WORKER_") {
				fmt.Fprintf(p.out, "%s: there, in %s\n", table, s.Place)
			}
		}
		return nil
	})
}

type segmentSetCmd struct {
	Tag         string `arg:"" help:"The tag."`
	sourceFlags `embed:""`
	Step        *int64 `placeholder:"N" help:"Ids in a range. About 600 times the peak rate a second survives ten minutes without the database. A new tag needs it."`
	Next        *int64 `placeholder:"N" help:"The first id that is not handed out yet; it can only be raised."`
}

// Run makes or changes the tag.
func (c *segmentSetCmd) Run(ctx context.Context, p *program) error {
	row := segment.Row{Tag: c.Tag}
	switch {
	case c.Step == nil && c.Next == nil:
		return usagef("set changes nothing without --step or --next")
	case c.Step != nil && (*c.Step < 1 || *c.Step > math.MaxInt32):
		return usagef("--step is %d, want 1..%d", *c.Step, math.MaxInt32)
	case c.Next != nil && *c.Next < 1:
		return usagef("--next is %d, want 1..%d", *c.Next, int64(math.MaxInt64))
	}
	if c.Step != nil {
		row.Step = *c.Step
	}
	if c.Next != nil {
		row.Next = *c.Next
	}
	const lacks = "tags to set: it takes any"
	return c.tags(ctx, p, lacks, func(ctx context.Context, src tagTable) error {
		err := src.Set(ctx, row)
		if errors.Is(err, segment.ErrOptions) {
			return usageError{err}
		}
		return err
	})
}

type segmentNextCmd struct {
	Tag         string `arg:"" help:"The tag."`
	sourceFlags `embed:""`
	Count       int64 `short:"n" default:"1" placeholder:"N" help:"How many ids, 1 or more."`
}

// maxFetch is the longest range that is asked for at a time. It is a valid step.
const maxFetch = 1 << 30

// Run asks for ranges of the length that it needs, so that nothing is left over if the source
// allows that, and otherwise gives the rest back. --timeout bounds each fetch, not the printing.
func (c *segmentNextCmd) Run(ctx context.Context, p *program) error {
	if c.Count < 1 {
		return usagef("-n is %d, want 1 or more", c.Count)
	}
	// The ctx that ends with --timeout is not for printing.
	return c.with(ctx, p, func(_ context.Context, src segment.Source) error {
		for left := c.Count; left > 0; {
			r, n, err := c.take(ctx, src, left)
			if err != nil {
				return err
			}
			stride := max(r.Stride, 1)
			var buf []byte
			for i := range n {
				buf = append(strconv.AppendInt(buf[:0], r.From+i*stride, 10), '\n')
				if _, err := p.out.Write(buf); err != nil {
					return err
				}
				if i%batch == 0 && ctx.Err() != nil {
					return context.Cause(ctx)
				}
			}
			left -= n
		}
		return nil
	})
}

// take fetches a range for up to n ids within --timeout. It returns the range and how many of its
// ids to use. It has offered the rest to the source.
func (c *segmentNextCmd) take(
	ctx context.Context, src segment.Source, n int64,
) (segment.Range, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r, err := src.Fetch(ctx, c.Tag, min(n, maxFetch))
	if err != nil {
		return r, 0, fmt.Errorf("tag %q: %w", c.Tag, err)
	}
	n = min(n, r.Len())
	if returner, ok := src.(segment.Returner); ok && n < r.Len() {
		rest := r
		rest.From += n * max(r.Stride, 1)
		// Whether or not the source takes it back, no other process gets the ids printed.
		if _, err := returner.Return(ctx, c.Tag, rest); err != nil {
			return r, 0, err
		}
	}
	return r, n, nil
}
