package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bench/internal/progress"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// honestCase is one generator at one rate.
type honestCase struct {
	name   string
	layout bitsalloc.Layout
	start  func(context.Context, bitsalloc.Layout) (uid.Generator, error)
	rate   float64
	bound  time.Duration
}

// honestCases returns the cases: both generators at the rates of the issue, on the default layout and, from 50,000 ids/s on,
// also on one whose sequence is wide enough not to borrow.
func honestCases() []honestCase {
	cached := func(ctx context.Context, l bitsalloc.Layout) (uid.Generator, error) {
		return uid.NewCached(ctx, assigner.Static(1), &uid.Options{Layout: l})
	}
	byClock := func(ctx context.Context, l bitsalloc.Layout) (uid.Generator, error) {
		return uid.NewDefault(ctx, assigner.Static(1), &uid.Options{Layout: l})
	}
	var narrow bitsalloc.Layout
	wide := bitsalloc.Layout{TimeBits: 31, WorkerBits: 10, SeqBits: 22}
	const bound = 2 * time.Second // the default MaxLag of one-second ticks
	var out []honestCase
	for _, rate := range []float64{1, 1000, 8192, 50_000, 1_000_000} {
		out = append(out, honestCase{"uid.Cached", narrow, cached, rate, bound})
		if rate > 8192 {
			out = append(out, honestCase{"uid.Cached", wide, cached, rate, bound}, honestCase{"uid.Default", wide, byClock, rate, 0})
		} else {
			out = append(out, honestCase{"uid.Default", narrow, byClock, rate, 0})
		}
	}
	return out
}

// runTime runs all cases side by side: together they take a small part of one processor, and the clock is what is waited for.
func runTime(ctx context.Context, c *Config) error {
	cases := honestCases()
	d := pick(c, 5*time.Second, 2*time.Minute)
	steps := int(d / time.Second)
	return collect(ctx, c, result.Time, steps, func(bar *progress.Bar) ([]result.TimeRow, error) {
		rows := make([]result.TimeRow, len(cases))
		var wg sync.WaitGroup
		for i, k := range cases {
			wg.Go(func() { rows[i] = k.run(ctx, d) })
		}
		for range steps {
			bar.Step(fmt.Sprintf("%d generators", len(cases)))
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
		}
		wg.Wait()
		return rows, ctx.Err()
	})
}

// run offers k.rate ids a second, in bursts of a millisecond's worth, and compares each id's stamp with the clock.
func (k honestCase) run(ctx context.Context, d time.Duration) result.TimeRow {
	alloc, err := bitsalloc.New(k.layout)
	if err != nil {
		return result.TimeRow{Generator: k.name, Rate: k.rate, Err: err.Error()}
	}
	l := alloc.Layout()
	row := result.TimeRow{Generator: k.name, Rate: k.rate, Bound: k.bound.Seconds(),
		Layout: fmt.Sprintf("%d-%d-%d", l.TimeBits, l.WorkerBits, l.SeqBits)}
	g, err := k.start(ctx, k.layout)
	if err != nil {
		row.Err = err.Error()
		return row
	}
	defer func() { _ = g.Close() }()
	o := observer{alloc: alloc, row: &row, start: time.Now(), every: d / 60}
	ctx, cancel := context.WithTimeout(ctx, 2*d)
	defer cancel()
	for elapsed := time.Duration(0); elapsed < d; elapsed = time.Since(o.start) {
		for due := int64(elapsed.Seconds()*k.rate) + 1; row.IDs < due; row.IDs++ {
			if err := o.observe(ctx, g); err != nil {
				row.Err = err.Error()
				return row
			}
		}
		wait := min(time.Second, max(time.Millisecond, time.Duration(1e9/k.rate)))
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return row
		}
	}
	row.Seconds = time.Since(o.start).Seconds()
	o.flush(row.Seconds)
	return row
}

// observer compares stamps with the clock.
type observer struct {
	alloc *bitsalloc.Allocator
	row   *result.TimeRow
	start time.Time
	every time.Duration
	now   result.TimePoint
}

// observe takes one id. The clock is read before and after: an id is late only if its tick was over before the call began,
// and early only if its tick has not begun when the call returns.
func (o *observer) observe(ctx context.Context, g uid.Generator) error {
	before := time.Now()
	id, err := g.Next(ctx)
	if err != nil {
		return err
	}
	after := time.Now()
	tick, _, _, _ := o.alloc.Split(int64(id))
	begin, end := o.alloc.TimeAt(tick), o.alloc.TimeAt(tick+1)
	o.now.Lag = max(o.now.Lag, before.Sub(end).Seconds())
	o.now.Lead = max(o.now.Lead, begin.Sub(after).Seconds())
	if at := after.Sub(o.start); at >= o.every*time.Duration(len(o.row.Points)+1) {
		o.flush(at.Seconds())
	}
	return nil
}

// flush ends a stretch of time.
func (o *observer) flush(at float64) {
	o.now.At = at
	o.row.MaxLag, o.row.MaxLead = max(o.row.MaxLag, o.now.Lag), max(o.row.MaxLead, o.now.Lead)
	o.row.Points = append(o.row.Points, o.now)
	o.now = result.TimePoint{}
}
