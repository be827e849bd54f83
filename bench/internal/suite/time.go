package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/uid"
)

// observed is a generator at a rate, and how far its stamps were from the clock.
type observed struct {
	kind      string
	layout    bitsalloc.Layout
	rate      float64
	lag, lead time.Duration
	err       error
}

// stamps compares the stamps of both generators with the clock at several rates, on the default
// layout and, where that would borrow or wait, on one whose sequence is wide enough. All run at
// once; together they take a small part of one processor.
func stamps(ctx context.Context, c *Config, f *result.File) error {
	narrow := bitsalloc.Layout{TimeBits: 28, WorkerBits: 22, SeqBits: 13}
	wide := bitsalloc.Layout{TimeBits: 31, WorkerBits: 10, SeqBits: 22}
	var list []*observed
	for _, rate := range []float64{1, 1000, 8192, 50_000, 1_000_000} {
		list = append(list, &observed{kind: "uid.Cached", layout: narrow, rate: rate})
		l := narrow
		if rate > 8192 {
			l = wide
			list = append(list, &observed{kind: "uid.Cached", layout: l, rate: rate})
		}
		list = append(list, &observed{kind: "uid.Default", layout: l, rate: rate})
	}
	var wg sync.WaitGroup
	for _, o := range list {
		wg.Go(func() { o.err = o.run(ctx, pick(c, 5*time.Second, time.Minute)) })
	}
	wg.Wait()
	for _, o := range list {
		name := fmt.Sprintf("%s %d-%d-%d, %s ids a second", o.kind, o.layout.TimeBits,
			o.layout.WorkerBits, o.layout.SeqBits, human.Count(int64(o.rate)))
		f.Add("stamps", name, "worst lag", "s", o.lag.Seconds(), o.err)
		f.Add("stamps", name, "worst lead", "s", o.lead.Seconds(), o.err)
	}
	return ctx.Err()
}

// run asks for o.rate ids a second, a millisecond's worth at a time. The clock is read before and
// after each id: it is late only if its tick was over before the call began, and early only if its
// tick has not begun when the call returns.
func (o *observed) run(ctx context.Context, d time.Duration) error {
	var g uid.Generator
	var err error
	if o.kind == "uid.Cached" {
		g, err = uid.NewCached(ctx, claimtest.Static(1), &uid.Options{Layout: o.layout})
	} else {
		g, err = uid.NewDefault(ctx, claimtest.Static(1), &uid.DefaultOptions{Layout: o.layout})
	}
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	alloc, err := bitsalloc.New(o.layout)
	if err != nil {
		return err
	}
	start, made := time.Now(), int64(0)
	for elapsed := time.Duration(0); elapsed < d; elapsed = time.Since(start) {
		for due := int64(elapsed.Seconds()*o.rate) + 1; made < due; made++ {
			before := time.Now()
			id, err := g.Next(ctx)
			if err != nil {
				return err
			}
			after := time.Now()
			tick, _, _, _ := alloc.Split(int64(id))
			o.lag = max(o.lag, before.Sub(alloc.TimeAt(tick+1)))
			o.lead = max(o.lead, alloc.TimeAt(tick).Sub(after))
		}
		select {
		case <-time.After(min(time.Second, max(time.Millisecond, time.Duration(1e9/o.rate)))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
