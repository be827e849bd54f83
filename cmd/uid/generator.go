package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/uid"
)

// assignerFlags say how a run gets its worker id from the database. The command that embeds them
// sets what its help says of the default namespace.
type assignerFlags struct {
	Assigner  string `enum:"leased,disposable" default:"leased" help:"leased takes a worker id from WORKER_LEASE and gives it back at the end; disposable takes a new one from WORKER_NODE for good."`
	Namespace string `placeholder:"NAME" help:"Namespace of leased worker ids, a universe of ids with one layout: ids of two may be equal. Default: ${namespace}."`
}

// claimOptions are the options of a command's claim on a worker id.
type claimOptions struct {
	window time.Duration // how long a claim lasts without the database
	logger *slog.Logger
}

// assigner returns the Assigner that the flags name.
func (f *assignerFlags) assigner(db *gorm.DB, o claimOptions) assigner.Assigner {
	if f.Assigner == "disposable" {
		return workernode.Disposable(db, &workernode.DisposableOptions{Logger: o.logger})
	}
	return workernode.Leased(db, &workernode.LeasedOptions{
		Namespace: f.Namespace, Window: o.window, Logger: o.logger,
	})
}

// generator opens the database, creates the tables that are missing, takes a worker id and returns
// a generator. Its Close gives the worker id back and closes the database.
func (c *genCmd) generator(
	ctx context.Context, p *program, layout namedLayout,
) (uid.Generator, error) {
	if c.Worker != nil {
		return c.newGenerator(ctx, assigner.Static(*c.Worker), layout)
	}
	if c.fromAuthority(p) {
		g, err := c.authorityGenerator(ctx, p, &c.assignerFlags, claimOptions{window: genWindow},
			func(ctx context.Context, a *authority) (uid.Generator, error) {
				return c.newGenerator(ctx, a, layout)
			})
		if err != nil {
			return nil, err
		}
		return g, nil
	}
	// --timeout bounds only the start.
	start, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	db, s, err := c.open(start, p)
	if err != nil {
		return nil, err
	}
	bar := p.progress("taking a worker id from "+s.Place, 0)
	defer bar.End()
	// An account that may not create tables can use those that exist. So this error is reported
	// only if the claim fails as well, for another reason than what the tables hold.
	migrateErr := workernode.Migrate(start, db)
	g, err := c.newGenerator(start, c.assigner(db, claimOptions{window: genWindow}), layout)
	if err != nil {
		if migrateErr != nil && !errors.Is(err, assigner.ErrWorkersExhausted) &&
			!errors.Is(err, assigner.ErrLayoutMismatch) {
			err = migrateErr
		}
		return nil, errors.Join(c.explain(start, s, withFlags(err)), dsn.Close(db))
	}
	return ownedGenerator{g, func() error { return dsn.Close(db) }, p}, nil
}

// genWindow is how long a claim of gen lasts. It is short, because gen need not survive an outage.
const genWindow = 2 * time.Minute

func (c *genCmd) newGenerator(
	ctx context.Context, a assigner.Assigner, layout namedLayout,
) (uid.Generator, error) {
	if c.Kind == "default" {
		return uid.NewDefault(ctx, a,
			&uid.DefaultOptions{Layout: layout.alloc.Layout(), Eras: layout.later()})
	}
	return uid.NewCached(ctx, a, layout.options())
}

// ownedGenerator is a generator that owns the database or authority of its worker id.
type ownedGenerator struct {
	uid.Generator

	closeSource func() error
	p           *program
}

// Close prints the ids that are still buffered, gives the worker id back and closes its source. A
// worker id that cannot be given back does not fail the run, because the ids are good.
func (g ownedGenerator) Close() error {
	g.p.out.Flush()
	if err := g.Generator.Close(); err != nil {
		g.p.complain(fmt.Errorf("note: the worker id was not given back (%w); nothing need be "+
			"done: the ids are good, and the worker id is free again when its window ends",
			err))
	}
	return g.closeSource()
}
