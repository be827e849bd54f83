package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

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
		leases, err := workernode.Leases(ctx, db)
		if err != nil {
			return err
		}
		if c.Namespace != "" {
			leases = slices.DeleteFunc(leases, func(l workernode.Lease) bool { return l.Namespace != c.Namespace })
		}
		if c.Action == "reap" {
			return c.reap(ctx, p, db, leases)
		}
		nodes, err := workernode.Nodes(ctx, db, c.Limit)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(p.out).Encode(newWorkersJSON(nodes, leases))
		}
		if err := p.printNodes(nodes, c.Limit, zone); err != nil {
			return err
		}
		fmt.Fprintln(p.out)
		return p.printLeases(leases, zone)
	})
}

// reap reaps the namespaces of leases one by one. Worker ids whose windows have passed are free anyway; reaping makes
// sure that an owner which comes back late cannot go on.
func (c *workersCmd) reap(ctx context.Context, p *program, db *gorm.DB, leases []workernode.Lease) error {
	reaped := map[string]int{}
	var names []string
	for _, l := range leases {
		if _, ok := reaped[l.Namespace]; ok {
			continue
		}
		n, err := workernode.Reap(ctx, db, l.Namespace)
		if err != nil {
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
