package main

import (
	"context"
	"errors"
	"time"

	"github.com/uidring/uidring/cmd/uid/internal/progress"
	"github.com/uidring/uidring/uid"
)

type genCmd struct {
	dsnFlags      `embed:""`
	layoutFlags   `embed:""`
	assignerFlags `embed:"" set:"namespace=default, which is also that of disposable worker ids"`
	Count         int64  `short:"n" default:"1" placeholder:"N" help:"How many ids to make, 1 or more."`
	Format        string `short:"f" enum:"dec,base32,base62,json,table" default:"dec" help:"dec, base32, base62, json (one object a line) or table."`
	Kind          string `enum:"cached,default" default:"cached" help:"cached makes ids at full speed and borrows from the seconds to come when the clock is too slow; default waits for the clock."`
	Worker        *int64 `placeholder:"ID" help:"Use this worker id and no database. No other process may use it, and no earlier run may have stamped the same ticks: a run that borrowed seconds reaches ahead by as long."`
	Gene          *int64 `placeholder:"KEY" help:"Shard key whose low bits the ids end in; needs a layout with gene bits."`
	Zone          string `default:"local" placeholder:"ZONE" help:"Time zone of the times in json and table."`
}

// batch is how many ids are made at a time. Between two batches the run checks for a signal.
const batch = 1024

// Run makes ids until there are enough of them, the reader is gone or ctx ends. It prints whole
// lines, and always gives the worker id back.
func (c *genCmd) Run(ctx context.Context, p *program) (err error) {
	if c.Count < 1 {
		return usagef("-n is %d, want 1 or more", c.Count)
	}
	// A layout that cannot make ids is an error before a worker id is claimed.
	layout, err := c.resolveToMake()
	if err == nil {
		err = layout.usable(p.now())
	}
	if err != nil {
		return err
	}
	if c.Gene != nil && layout.alloc.Layout().GeneBits == 0 {
		return usagef("--gene: the layout %s has no gene bits", layout.alloc.Layout())
	}
	for _, era := range layout.eras.All() {
		if most := era.MaxWorker(); c.Worker != nil && (*c.Worker < 0 || *c.Worker > most) {
			return usagef("--worker is %d, want 0..%d", *c.Worker, most)
		}
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

	w := printer{w: p.out, layout: layout, zone: zone, format: c.Format}
	var bar *progress.Bar
	if !isTerminal(p.stdout) {
		// Ids that scroll by on the terminal are progress enough.
		bar = p.progress("making ids", c.Count)
	}
	defer bar.End()
	ids := make([]uid.ID, min(batch, c.Count))
	flushed := time.Now()
	for left := c.Count; left > 0; {
		n, fillErr := c.fill(ctx, g, ids[:min(left, int64(len(ids)))])
		for _, id := range ids[:n] {
			if err := w.print(g.Parse(id), ""); err != nil {
				return err
			}
		}
		if fillErr != nil {
			return fillErr
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		left -= int64(n)
		bar.Add(int64(n))
		if now := time.Now(); now.Sub(flushed) > 100*time.Millisecond {
			// Show the ids of a generator that waits for the clock without delay.
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
