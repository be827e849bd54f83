package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/segment"
)

type segmentListCmd struct {
	sourceFlags `embed:""`
	Pace        time.Duration `placeholder:"DURATION" help:"Look again after this time, and show the ids a second that were claimed meanwhile. Programs claim whole ranges, so take longer than a range lasts."`
	JSON        bool          `help:"Print one JSON array."`
}

// rowJSON is a row of --json; numbers that JavaScript may not hold are strings.
type rowJSON struct {
	Tag  string   `json:"tag"`
	Next string   `json:"next"`
	Step int64    `json:"step"`
	Left string   `json:"left"`
	Pace *float64 `json:"ids_per_second,omitempty"`

	Problem string `json:"problem,omitempty"` // why no range can be fetched
}

// Run lists the tags.
func (c *segmentListCmd) Run(ctx context.Context, p *program) error {
	if c.Pace > 0 && c.Source == "ticket" {
		return usagef("--pace is not for --source ticket: all tags of a server share its counter")
	}
	begin := time.Now()
	rows, err := c.look(ctx, p)
	if err != nil {
		return err
	}
	var before []segment.Row
	if c.Pace > 0 {
		bar := p.progress("looking again in "+c.Pace.String(), 0)
		select {
		case <-time.After(c.Pace - time.Since(begin)):
		case <-ctx.Done():
		}
		bar.End()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		before = rows
		if rows, err = c.look(ctx, p); err != nil {
			return err
		}
	}
	return c.print(p, rows, before, time.Since(begin))
}

// look reads the rows.
func (c *segmentListCmd) look(ctx context.Context, p *program) (rows []segment.Row, err error) {
	if c.Source == "ticket" {
		return c.tickets(ctx, p)
	}
	err = c.tags(ctx, p, "list of tags", func(ctx context.Context, src tagTable) error {
		rows, err = src.List(ctx)
		return err
	})
	return rows, err
}

// print prints the rows. A row that is in before too gets the ids a second that were claimed since.
func (c *segmentListCmd) print(
	p *program, rows, before []segment.Row, elapsed time.Duration,
) error {
	was := map[string]int64{}
	for _, r := range before {
		was[r.Tag] = r.Next
	}
	pace := func(r segment.Row) *float64 {
		next, ok := was[r.Tag]
		if !ok || r.Next < next { // new, or made again
			return nil
		}
		a := float64(r.Next-next) / elapsed.Seconds()
		return &a
	}
	if c.JSON {
		out := make([]rowJSON, len(rows))
		for i, r := range rows {
			out[i] = rowJSON{r.Tag, strconv.FormatInt(r.Next, 10), r.Step,
				strconv.FormatInt(left(r), 10), pace(r), invalid(r)}
		}
		return json.NewEncoder(p.out).Encode(out)
	}
	if len(rows) == 0 {
		hint := `"uid segment set TAG --step N" makes one`
		if c.Source == "ticket" {
			hint = "the first request for one makes it"
		}
		fmt.Fprintln(p.out, "no tags; "+hint)
		return nil
	}
	t := tabwriter.NewWriter(p.out, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "TAG\tNEXT\tSTEP\tLEFT")
	if before != nil {
		fmt.Fprint(t, "\tIDS/S\tLASTS")
	}
	for _, r := range rows {
		fmt.Fprintf(t, "\n%s\t%d\t%d\t%d", human.Printable(r.Tag), r.Next, r.Step, left(r))
		switch a := pace(r); {
		case before == nil:
		case a == nil:
			fmt.Fprint(t, "\t-\t-")
		case *a == 0:
			fmt.Fprint(t, "\t0\t-")
		default:
			fmt.Fprintf(t, "\t%.1f\t%s", *a, human.Seconds(float64(left(r)) / *a))
		}
		if text := invalid(r); text != "" {
			fmt.Fprintf(t, "\t<- %s", text)
		}
	}
	fmt.Fprintln(t)
	return t.Flush()
}

// left returns how many ids a row has left.
func left(r segment.Row) int64 { return math.MaxInt64 - max(r.Next, 0) }

// invalid returns why no range can be fetched from a row, or "".
func invalid(r segment.Row) string {
	switch {
	case r.Step < 1 || r.Step > segbound.Span:
		return fmt.Sprintf("step is %d, want 1..%d", r.Step, segbound.Span)
	case r.Next < 0:
		return fmt.Sprintf("next is %d, want 0 or more", r.Next)
	case left(r) < r.Step:
		return "no range left"
	}
	return ""
}
