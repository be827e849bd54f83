package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/progress"
	"github.com/uidring/uidring/uid"
)

// timeCase is one generator at one rate.
type timeCase struct {
	name   string
	layout bitsalloc.Layout
	start  func(context.Context, bitsalloc.Layout) (uid.Generator, error)
	rate   float64
	bound  time.Duration
}

// timeCases returns both generators at several rates, on the default layout and, where that would
// borrow or wait, on one whose sequence is wide enough.
func timeCases() []timeCase {
	cached := func(ctx context.Context, l bitsalloc.Layout) (uid.Generator, error) {
		return uid.NewCached(ctx, assignertest.Static(1), &uid.Options{Layout: l})
	}
	byClock := func(ctx context.Context, l bitsalloc.Layout) (uid.Generator, error) {
		return uid.NewDefault(ctx, assignertest.Static(1), &uid.DefaultOptions{Layout: l})
	}
	var narrow bitsalloc.Layout
	wide := bitsalloc.Layout{TimeBits: 31, WorkerBits: 10, SeqBits: 22}
	const bound = 2 * time.Second // the default MaxLag of one-second ticks
	var out []timeCase
	for _, rate := range []float64{1, 1000, 8192, 50_000, 1_000_000} {
		out = append(out, timeCase{"uid.Cached", narrow, cached, rate, bound})
		layout := narrow
		if rate > 8192 {
			layout = wide
			out = append(out, timeCase{"uid.Cached", wide, cached, rate, bound})
		}
		out = append(out, timeCase{"uid.Default", layout, byClock, rate, 0})
	}
	return out
}

// runTime runs all cases concurrently. Together they take a small part of one processor.
func runTime(ctx context.Context, c *Config) error {
	cases := timeCases()
	d := pick(c, 5*time.Second, time.Minute)
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

// run asks for k.rate ids a second, a millisecond's worth at a time, and compares each stamp with
// the clock.
func (k timeCase) run(ctx context.Context, d time.Duration) result.TimeRow {
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

// observe takes one id. The clock is read before and after: an id is late only if its tick was over
// before the call began, and early only if its tick has not begun when the call returns.
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
