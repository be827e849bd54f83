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
	"github.com/uidring/uidring/uid"
)

// assignerFlags say how a run gets its worker id from the database.
type assignerFlags struct {
	Assigner  string `enum:"leased,disposable" default:"leased" help:"leased takes a worker id from WORKER_LEASE and gives it back at the end; disposable takes a new one from WORKER_NODE for good."`
	Namespace string `placeholder:"NAME" help:"Namespace of leased worker ids. Default: one that belongs to this command and the layout."`
}

// deal is what a command wants of its worker id.
type deal struct {
	command string        // names the default namespace
	window  time.Duration // how long a process that is killed keeps the worker id from others, and survives without the database
	logger  *slog.Logger
}

// assigner returns the Assigner that the flags name. Claims of one namespace share one layout, so the namespace that the
// command has for itself carries the layout's text.
func (f *assignerFlags) assigner(db *gorm.DB, layout namedLayout, d deal) assigner.Assigner {
	if f.Assigner == "disposable" {
		return workernode.Disposable(db, &workernode.DisposableOptions{Logger: d.logger})
	}
	o := &workernode.LeasedOptions{Namespace: f.Namespace, Window: d.window, Logger: d.logger}
	if o.Namespace == "" {
		o.Namespace = d.command + " " + layout.alloc.Layout().String()
	}
	return workernode.Leased(db, o)
}

// usable says why no id can be made at now, as far as the layout alone decides it, so that no worker id is spent on it.
func (n *namedLayout) usable(now time.Time) error {
	layout := n.alloc.Layout()
	if layout.Epoch.After(now) {
		return usagef("--epoch: the layout %s begins at %s, want an instant before the present", layout, layout.Epoch.Format(time.RFC3339))
	}
	if end := n.alloc.Expires(); !end.After(now) {
		return fmt.Errorf("the layout %s has no ticks left: it ran out at %s; give a later --epoch or more time bits", layout, end.Format(time.RFC3339))
	}
	return nil
}

// generator opens the database, creates the tables that are missing, takes a worker id and returns a generator on it.
// Closing that gives the worker id back and closes the database.
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
	// then it is the one to tell about, unless the tables were there.
	migrateErr := workernode.Migrate(start, db)
	g, err := c.newGenerator(start, c.assigner(db, layout, deal{command: "uid gen", window: 2 * time.Minute}), layout)
	if err != nil {
		if migrateErr != nil && !errors.Is(err, assigner.ErrWorkersExhausted) && !errors.Is(err, assigner.ErrLayoutMismatch) {
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
