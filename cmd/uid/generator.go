package main

import (
	"context"
	"errors"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/uid"
)

// generator opens the database, creates the table if it is missing, takes a worker id and returns a generator on it.
// Closing that closes the database too.
func (c *genCmd) generator(ctx context.Context, p *program, layout namedLayout) (uid.Generator, error) {
	if c.Worker != nil {
		return c.newGenerator(ctx, assigner.Static(*c.Worker), layout)
	}
	// The time allowed is for the start alone; the generator itself outlives it.
	start, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	db, d, err := c.open(start, p)
	if err != nil {
		return nil, err
	}
	m := p.meter("taking a worker id from "+d.display, 0)
	defer m.close()
	// An account that may not create tables can use those that exist, so that is an error only if the rest fails too, and
	// then it is the one to tell about.
	migrateErr := workernode.Migrate(start, db)
	g, err := c.newGenerator(start, workernode.Disposable(db, nil), layout)
	if err != nil {
		if migrateErr != nil {
			err = migrateErr
		}
		return nil, errors.Join(c.explain(start, d, err), closeDB(db))
	}
	return dbGenerator{g, db}, nil
}

func (c *genCmd) newGenerator(ctx context.Context, a assigner.Assigner, layout namedLayout) (uid.Generator, error) {
	options := &uid.Options{Layout: layout.alloc.Layout()}
	if c.Kind == "default" {
		return uid.NewDefault(ctx, a, options)
	}
	return uid.NewCached(ctx, a, options)
}

// dbGenerator is a generator whose database nobody else uses.
type dbGenerator struct {
	uid.Generator
	db *gorm.DB
}

// Close gives the worker id back first, which needs the database.
func (g dbGenerator) Close() error { return errors.Join(g.Generator.Close(), closeDB(g.db)) }
