package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"gorm.io/gorm"

	"github.com/uidring/uidring/segment"
)

type segmentCmd struct {
	Init segmentInitCmd `cmd:"" help:"Create the tables that are missing."`
	List segmentListCmd `cmd:"" help:"List the tags and their counters."`
	Set  segmentSetCmd  `cmd:"" help:"Make a tag, or change its step or raise its counter."`
	Next segmentNextCmd `cmd:"" help:"Take ids of a tag."`
}

// sourceFlags name the table that ranges come from.
type sourceFlags struct {
	dsnFlags `embed:""`
	Source   string `enum:"leaf,sequence,ticket" default:"leaf" help:"leaf (table leaf_alloc), sequence (t_sequence) or ticket (REPLACE INTO ticket)."`
}

// source returns the Source on db.
func (f *sourceFlags) source(db *gorm.DB) segment.Source {
	switch f.Source {
	case "sequence":
		return segment.Sequence(db, nil)
	case "ticket":
		return segment.Ticket([]*gorm.DB{db}, nil)
	default:
		return segment.LeafAlloc(db, nil)
	}
}

// with opens the database and calls do with the Source on it. The embedded database gets its tables first.
func (f *sourceFlags) with(ctx context.Context, p *program, do func(context.Context, segment.Source) error) error {
	return f.use(ctx, p, func(ctx context.Context, db *gorm.DB, d dsn) error {
		if d.embedded {
			if err := segment.Migrate(ctx, db); err != nil {
				return err
			}
		}
		return withHint(do(ctx, f.source(db)))
	})
}

// withHint adds to an error about a table that is missing how to make it. MySQL, PostgreSQL and SQLite say it in this order.
func withHint(err error) error {
	if err == nil {
		return nil
	}
	for _, missing := range []string{"Error 1146 (42S02)", "(SQLSTATE 42P01)", "no such table"} {
		if strings.Contains(err.Error(), missing) {
			return fmt.Errorf(`%w; "uid segment init" makes the tables that are missing`, err)
		}
	}
	return err
}

type segmentInitCmd struct {
	dsnFlags `embed:""`
}

// Run makes the tables.
func (c *segmentInitCmd) Run(ctx context.Context, p *program) error {
	return c.use(ctx, p, func(ctx context.Context, db *gorm.DB, d dsn) error {
		if err := segment.Migrate(ctx, db); err != nil {
			return err
		}
		for _, table := range segment.Tables() {
			fmt.Fprintf(p.out, "%s: there, in %s\n", table, d.display)
		}
		return nil
	})
}

type segmentListCmd struct {
	sourceFlags `embed:""`
	JSON        bool `help:"Print one JSON array."`
}

// rowJSON is a row of --json; the counter is a string because JavaScript may not hold its number.
type rowJSON struct {
	Tag  string `json:"tag"`
	Next string `json:"next"`
	Step int64  `json:"step"`
}

// Run lists the tags.
func (c *segmentListCmd) Run(ctx context.Context, p *program) error {
	return c.with(ctx, p, func(ctx context.Context, src segment.Source) error {
		lister, ok := src.(segment.Lister)
		if !ok {
			return usagef("--source %s has no list of tags: it takes any", c.Source)
		}
		rows, err := lister.List(ctx)
		if err != nil {
			return err
		}
		if c.JSON {
			out := make([]rowJSON, len(rows))
			for i, r := range rows {
				out[i] = rowJSON{r.Tag, strconv.FormatInt(r.Next, 10), r.Step}
			}
			return json.NewEncoder(p.out).Encode(out)
		}
		if len(rows) == 0 {
			fmt.Fprintln(p.out, `no tags; "uid segment set TAG --step N" makes one`)
			return nil
		}
		t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "TAG\tNEXT\tSTEP")
		for _, r := range rows {
			fmt.Fprintf(t, "%s\t%d\t%d\n", printable(r.Tag), r.Next, r.Step)
		}
		return t.Flush()
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
	case c.Tag == "":
		return usagef("the tag is empty")
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
	return c.with(ctx, p, func(ctx context.Context, src segment.Source) error {
		setter, ok := src.(segment.Setter)
		if !ok {
			return usagef("--source %s has no tags to set: it takes any", c.Source)
		}
		err := setter.Set(ctx, row)
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

// maxFetch bounds one range that is asked for, to what a step may be.
const maxFetch = 1 << 30

// Run takes ranges of just the length that is wanted, so that nothing is left over where the source allows that, and gives
// the rest back where it takes it. --timeout is for each range; printing takes as long as it takes.
func (c *segmentNextCmd) Run(ctx context.Context, p *program) error {
	if c.Count < 1 {
		return usagef("-n is %d, want 1 or more", c.Count)
	}
	if c.Tag == "" {
		return usagef("the tag is empty")
	}
	return c.with(ctx, p, func(_ context.Context, src segment.Source) error { // whose ctx ends with --timeout, in the midst of printing
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

// take claims a range for up to n ids within --timeout. It returns the range and how many of its ids are to be used; the rest
// was offered to the source.
func (c *segmentNextCmd) take(ctx context.Context, src segment.Source, n int64) (segment.Range, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	r, err := src.Fetch(ctx, c.Tag, min(n, maxFetch))
	if err != nil {
		return r, 0, err
	}
	n = min(n, r.Len())
	if returner, ok := src.(segment.Returner); ok && n < r.Len() {
		rest := r
		rest.From += n * max(r.Stride, 1)
		// Whether the source takes it back or not, the ids printed are this run's alone.
		if _, err := returner.Return(ctx, c.Tag, rest); err != nil {
			return r, 0, err
		}
	}
	return r, n, nil
}
