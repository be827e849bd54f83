package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/cmd/uid/internal/tickets"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/segment"
)

type segmentExpandCmd struct {
	Server  []string      `arg:"" optional:"" name:"dsn" help:"The ticket servers: the old ones in their order, then the new ones. Default: those of the environment variable UID_DSN, with a space between two."`
	Step    int64         `placeholder:"N" help:"What the servers count by. Default: as many as there are servers."`
	Yes     bool          `help:"Carry it out. Without it nothing is changed."`
	Abandon bool          `help:"Take back what was announced instead, while no counter has moved. Name all servers of the plan."`
	Timeout time.Duration `default:"30s" help:"How long all of it may take."`
	JSON    bool          `help:"Print one JSON object."`
}

// Help says what the command is for.
func (*segmentExpandCmd) Help() string {
	return "Makes one set of the ticket servers, which are MySQL or MariaDB, while they are in " +
		"use. It may be run again at any time, and goes on where it ended."
}

// Run plans the change, and with --yes carries it out.
func (c *segmentExpandCmd) Run(ctx context.Context, p *program) (err error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	names := c.Server
	if len(names) == 0 {
		names = strings.Fields(p.getenv("UID_DSN"))
	}
	switch {
	case c.Abandon && (c.Yes || c.Step != 0):
		return usagef("--abandon takes a plan back, and --yes and --step make one")
	case c.Abandon && len(names) == 0:
		return usagef("no servers, want all that have the plan")
	case len(names) < 2 && !c.Abandon:
		return usagef("%d servers, want 2 or more, of which the first are the old ones", len(names))
	}
	dbs, places, err := ticketServers(p, names)
	defer func() { err = errors.Join(err, closeServers(dbs)) }()
	if err != nil {
		return err
	}
	set, err := tickets.New(dbs, c.Step)
	if err != nil {
		return usageError{err}
	}
	if c.Abandon {
		n, err := set.Abandon(ctx)
		if err != nil {
			return withHint(err)
		}
		return c.printAbandoned(p, n)
	}
	run := set.Plan
	if c.Yes {
		run = set.Expand
	}
	work, err := run(ctx)
	switch {
	case errors.Is(err, segment.ErrOptions):
		return usageError{err}
	case err != nil:
		return withHint(err)
	case c.JSON:
		return json.NewEncoder(p.out).Encode(expandJSON(work, places, c.Yes))
	}
	c.print(p, work, places)
	return nil
}

// ticketServers opens the databases of several servers. A server that is down is not an error.
func ticketServers(p *program, names []string) (dbs []*gorm.DB, places []string, err error) {
	for i, name := range names {
		s, err := dsn.Parse(name)
		if err != nil {
			return dbs, places, usagef("server %d: %w", i, err)
		}
		p.redactor.Secret(s.Secrets...)
		if slices.Contains(places, s.Place) {
			return dbs, places, usagef("server %d is %s, which is another server of the list",
				i, s.Place)
		}
		db, err := s.Pool()
		if err != nil {
			return dbs, places, fmt.Errorf("%s: %w", s.Place, err)
		}
		dbs, places = append(dbs, db), append(places, s.Place)
	}
	return dbs, places, nil
}

// closeServers closes the databases of several servers.
func closeServers(dbs []*gorm.DB) error {
	var errs []error
	for _, db := range dbs {
		errs = append(errs, dsn.Close(db))
	}
	return errors.Join(errs...)
}

// print prints the plans as SQL with comments.
func (c *segmentExpandCmd) print(p *program, work []tickets.Work, places []string) {
	left := false
	for _, w := range work {
		left = left || len(w.Announce)+len(w.Change) > 0
	}
	switch {
	case !left:
		fmt.Fprintln(p.out, "-- nothing is left to do")
	case c.Yes:
		fmt.Fprintln(p.out, "-- done")
	default:
		fmt.Fprintln(p.out, "-- a dry run: nothing is changed; --yes carries it out")
	}
	fmt.Fprintf(p.out, "-- from id %d on the servers count by %d\n", work[0].Plan.Start,
		work[0].Plan.Step)
	for _, phase := range []struct {
		name       string
		statements func(tickets.Work) []string
	}{
		{"announce the plan on", func(w tickets.Work) []string { return w.Announce }},
		{"change", func(w tickets.Work) []string { return w.Change }},
	} {
		for i, w := range slices.Backward(work) {
			if statements := phase.statements(w); len(statements) > 0 {
				fmt.Fprintf(p.out, "-- %s server %d, %s\n%s;\n", phase.name, i, places[i],
					strings.Join(statements, ";\n"))
			}
		}
	}
	for i, w := range work {
		fmt.Fprintf(p.out, "-- for the configuration file of server %d: "+
			"auto_increment_increment=%d auto_increment_offset=%d\n", i, w.Plan.Step, w.Plan.Offset)
	}
}

// printAbandoned says how many plans were taken back.
func (c *segmentExpandCmd) printAbandoned(p *program, n int) error {
	if c.JSON {
		return json.NewEncoder(p.out).Encode(map[string]int{"abandoned": n})
	}
	_, err := fmt.Fprintf(p.out, "-- %s taken back\n", human.Plural(n, "plan"))
	return err
}

// expandJSON is what --json prints.
func expandJSON(work []tickets.Work, places []string, yes bool) any {
	type server struct {
		Place    string   `json:"place"`
		Offset   int64    `json:"offset"`
		Announce []string `json:"announce"`
		Change   []string `json:"change"`
	}
	out := struct {
		DryRun  bool     `json:"dry_run"`
		Start   int64    `json:"start,string"`
		Step    int64    `json:"step"`
		Servers []server `json:"servers"`
	}{DryRun: !yes, Start: work[0].Plan.Start, Step: work[0].Plan.Step}
	for i, w := range work {
		s := server{places[i], w.Plan.Offset, []string{}, []string{}}
		out.Servers = append(out.Servers, server{s.Place, s.Offset,
			append(s.Announce, w.Announce...), append(s.Change, w.Change...)})
	}
	return out
}
