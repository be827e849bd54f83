package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/uid"
)

type genCmd struct {
	dsnFlags      `embed:""`
	layoutFlags   `embed:""`
	assignerFlags `embed:""`
	Count         int64  `short:"n" default:"1" placeholder:"N" help:"How many ids to make, 1 or more."`
	Format        string `short:"f" enum:"dec,base32,base62,json,table" default:"dec" help:"dec, base32, base62, json (one object a line) or table."`
	Kind          string `enum:"cached,default" default:"cached" help:"cached makes ids at full speed and borrows from the seconds to come when the clock is too slow; default waits for the clock."`
	Worker        *int64 `placeholder:"ID" help:"Use this worker id and no database. That nobody else uses it is yours to make sure."`
	Gene          *int64 `placeholder:"KEY" help:"Shard key whose low bits the ids end in; needs a layout with gene bits."`
	Zone          string `default:"local" placeholder:"ZONE" help:"Time zone of the times in json and table."`
}

// batch is how many ids are made at a time; between two batches the run looks for a signal.
const batch = 1024

// Run makes ids until there are enough of them, the reader is gone or ctx ends. Whatever was made is printed in whole
// lines, and the worker id is given back on every way out.
func (c *genCmd) Run(ctx context.Context, p *program) (err error) {
	if c.Count < 1 {
		return usagef("-n is %d, want 1 or more", c.Count)
	}
	layout, err := c.layoutFlags.resolve()
	if err != nil {
		return err
	}
	if layout.decode != nil {
		return usagef("--layout %s is for taking ids apart; keyworker makes them", layout.name)
	}
	if c.Gene != nil && layout.alloc.MaxGene() == 0 {
		return usagef("--gene: the layout %s has no gene bits", layout.alloc.Layout())
	}
	// The rest of what the layout alone decides is found out before a worker id is spent on it.
	if epoch := layout.alloc.Layout().Epoch; epoch.After(p.now()) {
		return usagef("--epoch: the layout %s begins at %s, want an instant before the present", layout.alloc.Layout(), epoch.Format(time.RFC3339))
	}
	if end := layout.alloc.Expires(); !end.After(p.now()) {
		return fmt.Errorf("the layout %s has no ticks left: it ran out at %s; give a later --epoch or more time bits",
			layout.alloc.Layout(), end.Format(time.RFC3339))
	}
	zone, err := loadZone(c.Zone)
	if err != nil {
		return err
	}
	g, err := c.generator(ctx, p, layout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Close()) }()

	w := idWriter{anatomy: anatomy{layout: layout, zone: zone}, format: c.Format, g: g, p: p}
	var m *meter
	if !isTerminal(p.stdout) {
		// Ids that scroll by on the terminal are progress enough.
		m = p.meter("making ids", c.Count)
	}
	defer m.close()
	ids := make([]uid.ID, min(batch, c.Count))
	flushed := time.Now()
	for left := c.Count; left > 0; {
		n, fillErr := c.fill(ctx, g, ids[:min(left, int64(len(ids)))])
		if err := w.write(ids[:n]); err != nil {
			return err
		}
		if fillErr != nil {
			return fillErr
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		left -= int64(n)
		m.add(int64(n))
		if now := time.Now(); now.Sub(flushed) > 100*time.Millisecond {
			// A generator that waits for the clock is slower than its reader.
			if err := p.out.Flush(); err != nil {
				return err
			}
			flushed = now
		}
	}
	return nil
}

// fill makes len(ids) ids, with the gene if there is one.
func (c *genCmd) fill(ctx context.Context, g uid.Generator, ids []uid.ID) (int, error) {
	if c.Gene == nil {
		return g.Fill(ctx, ids)
	}
	for i := range ids {
		id, err := g.NextGene(ctx, *c.Gene)
		if err != nil {
			return i, err
		}
		ids[i] = id
	}
	return len(ids), nil
}

// idWriter prints ids in one format.
type idWriter struct {
	anatomy
	format string
	g      uid.Generator
	p      *program
	buf    []byte
	table  *columns
}

// write prints ids. Only whole lines reach the buffer of the output.
func (w *idWriter) write(ids []uid.ID) error {
	switch w.format {
	case "json":
		for _, id := range ids {
			if err := w.json(w.p.out, w.g.Parse(id), ""); err != nil {
				return err
			}
		}
		return nil
	case "table":
		return w.writeTable(ids)
	}
	w.buf = w.buf[:0]
	for _, id := range ids {
		w.buf = append(idForm(w.format).write(w.buf, id), '\n')
	}
	_, err := w.p.out.Write(w.buf)
	return err
}

func (w *idWriter) writeTable(ids []uid.ID) (err error) {
	if w.table == nil {
		if w.table, err = newColumns(w.p.out, w.columns()); err != nil {
			return err
		}
	}
	for _, id := range ids {
		if err := w.table.row(w.cells(w.g.Parse(id))...); err != nil {
			return err
		}
	}
	return nil
}
