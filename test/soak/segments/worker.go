package segments

import (
	"context"
	"sync"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/test/internal/soak"
)

// failed is the bit of a frame's kind that marks an error. Without it the kind is an index in
// kinds.
const failed = 0x80

// work takes ids of every kind in a worker process, and writes them, until ctx ends.
func work(ctx context.Context, p places, w *soak.Output) error {
	d, err := p.open()
	if err != nil {
		return err
	}
	out := output{w}
	var wg sync.WaitGroup
	for i, k := range kinds {
		wg.Go(func() { out.pump(ctx, byte(i), k, d) })
	}
	wg.Wait()
	return nil
}

// output writes what a worker process has.
type output struct{ *soak.Output }

// pump takes ids of a kind until ctx ends, one by one and many at once in turn, and then gives back
// what is left. It waits for a database that is down at the start.
func (o output) pump(ctx context.Context, i byte, k kind, d databases) {
	// The step is small, so that ranges end often, and a lost range is a small gap.
	options := &segment.Options{MaxStep: 20_000, Checkpoint: true}
	var g *segment.Generator
	for g == nil {
		var err error
		if g, err = segment.New(ctx, k.of(d), options); err != nil {
			if ctx.Err() != nil {
				return
			}
			o.fail(i, "New", err)
			time.Sleep(slow)
		}
	}
	ids := make([]int64, k.batch)
	for one := false; ctx.Err() == nil; one = !one {
		n, err := 0, error(nil)
		if !one {
			n, err = g.Fill(ctx, k.tagOf(), ids)
		}
		for one && n < len(ids) && err == nil {
			if ids[n], err = g.Next(ctx, k.tagOf()); err == nil {
				n++
			}
		}
		o.Write(i, soak.AppendIDs(nil, ids[:n]))
		if err != nil && ctx.Err() == nil {
			o.fail(i, "Next", err)
		}
		select {
		case <-time.After(k.every):
		case <-ctx.Done():
		}
	}
	if err := g.Close(); err != nil {
		o.fail(i, "Close", err)
	}
}

// fail writes what failed.
func (o output) fail(i byte, what string, err error) {
	o.Write(i|failed, []byte(what+": "+soak.SourceError(err)))
}
