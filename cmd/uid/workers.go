package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/workernode"
)

type workersCmd struct {
	Action    string `arg:"" optional:"" enum:"list,reap" default:"list" help:"list (the default) shows the rows; reap takes leased worker ids whose windows have passed from their owners."`
	dsnFlags  `embed:""`
	Namespace string `placeholder:"NAME" help:"Only the leases of this namespace. Default: all."`
	Limit     int    `default:"20" placeholder:"N" help:"At most so many rows of WORKER_NODE, newest first."`
	Zone      string `default:"local" placeholder:"ZONE" help:"Time zone of the times shown."`
	JSON      bool   `help:"Print one JSON object."`
}

// Run lists both tables, or reaps.
func (c *workersCmd) Run(ctx context.Context, p *program) error {
	if c.Limit < 1 {
		return usagef("--limit is %d, want 1 or more", c.Limit)
	}
	zone, err := loadZone(c.Zone)
	if err != nil {
		return err
	}
	return c.use(ctx, p, func(ctx context.Context, db *gorm.DB, _ dsn) error {
		var bad unreadable
		leases, err := workernode.Leases(ctx, db)
		if err := bad.keep(err); err != nil {
			return err
		}
		if c.Namespace != "" {
			leases = slices.DeleteFunc(leases, func(l workernode.Lease) bool { return l.Namespace != c.Namespace })
			bad = slices.DeleteFunc(bad, func(r workernode.UnreadableRow) bool { return r.Namespace != c.Namespace })
		}
		if c.Action == "reap" {
			err = c.reap(ctx, p, db, leases, &bad)
		} else {
			err = c.list(ctx, p, db, leases, &bad, zone)
		}
		if err != nil {
			return err
		}
		return bad.report(p)
	})
}

// list prints both tables.
func (c *workersCmd) list(ctx context.Context, p *program, db *gorm.DB, leases []workernode.Lease, bad *unreadable, zone *time.Location) error {
	nodes, err := workernode.Nodes(ctx, db, c.Limit)
	if err := bad.keep(err); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(p.out).Encode(newWorkersJSON(nodes, leases, *bad))
	}
	if err := p.printNodes(nodes, c.Limit, zone); err != nil {
		return err
	}
	fmt.Fprintln(p.out)
	return p.printLeases(leases, zone)
}

// unreadable are the rows that cannot be read. They hide no other row, and are what the command fails with in the end.
type unreadable []workernode.UnreadableRow

// keep takes such rows out of err. It returns what is left.
func (u *unreadable) keep(err error) error {
	e, ok := errors.AsType[*workernode.UnreadableError](err)
	if !ok {
		return err
	}
	for _, r := range e.Rows {
		if !slices.ContainsFunc(*u, func(o workernode.UnreadableRow) bool { return o.String() == r.String() }) {
			*u = append(*u, r)
		}
	}
	return nil
}

// report prints a line for each row, and fails if there is one.
func (u *unreadable) report(p *program) error {
	if len(*u) == 0 {
		return nil
	}
	for _, r := range *u {
		p.complain(errors.New(r.String()))
	}
	return errReported
}

// reap reaps the namespaces of leases one by one. Worker ids whose windows have passed are free anyway; reaping makes
// sure that an owner which comes back late cannot go on.
func (c *workersCmd) reap(ctx context.Context, p *program, db *gorm.DB, leases []workernode.Lease, bad *unreadable) error {
	reaped := map[string]int{}
	var names []string
	for _, l := range leases {
		if _, ok := reaped[l.Namespace]; ok {
			continue
		}
		n, err := workernode.Reap(ctx, db, l.Namespace)
		if err := bad.keep(err); err != nil {
			return err
		}
		reaped[l.Namespace] = n
		names = append(names, l.Namespace)
	}
	if c.JSON {
		return json.NewEncoder(p.out).Encode(map[string]any{"reaped": reaped})
	}
	for _, name := range names {
		fmt.Fprintf(p.out, "%s: %d reaped\n", printable(name), reaped[name])
	}
	if len(names) == 0 {
		fmt.Fprintln(p.out, "no leases")
	}
	return nil
}
