package contender

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/uid"
)

// Names of the library's rows that others refer to.
const (
	OneLane     = "uid.Cached"
	ManyLanes   = "uid.Cached, many lanes"
	DefaultWide = "uid.Default 31-4-28"
	DefaultHash = "uid.Default 41-10-12 ms"
	DefaultZero = "uid.Default 41-10-12 ms, SeqStart 1"
	SegmentTag  = "segment, one tag"
)

// worker is the worker id of every generator here. They share it, so ids of two may be equal.
const worker = 1

// second returns the rate of a layout with one-second ticks; the default layout's sequence has 13
// bits.
func second(seqBits int, waits bool) Rate { return perTick(1<<seqBits, time.Second, waits) }

func owns() []Contender {
	row := func(name string, r Rate, start Start, note string) Contender {
		return Contender{name, Own, AddCalled, 63, r, note, start}
	}
	wide := bitsalloc.Layout{TimeBits: 31, WorkerBits: 4, SeqBits: 28}
	twitter := perTick(1<<12, time.Millisecond, true)
	return []Contender{
		row(OneLane, second(13, false), Cached(nil),
			"the default: one lane, strictly increasing ids, layout 28-22-13"),
		row(ManyLanes, second(13, false), Cached(&uid.Options{Lanes: uid.AutoLanes}),
			"`Lanes: uid.AutoLanes`: ids increase per lane"),
		row("uid.Cached 31-4-28", second(28, false), Cached(&uid.Options{Layout: wide}),
			"one lane on a layout that one goroutine cannot use up: it borrows nothing"),
		row("uid.Cached 31-4-28, many lanes", second(28, false),
			Cached(&uid.Options{Layout: wide, Lanes: uid.AutoLanes}), "many lanes on that layout"),
		row(DefaultWide, second(28, true), Default(&uid.DefaultOptions{Layout: wide}),
			"asks the clock for every id; a layout that is not its limit"),
		row(DefaultHash, twitter, Default(&uid.DefaultOptions{Layout: compat.Twitter()}),
			"Twitter's layout, which bwmarrin/snowflake has too; a tick begins at a hash in the "+
				"lower half of its 4,096 numbers, so that quiet services' ids spread"),
		row(DefaultZero, twitter, Default(&uid.DefaultOptions{Layout: compat.Twitter(),
			SeqStart: 1}), "the same with ticks that begin at zero, as Twitter's and "+
			"bwmarrin's do"),
		row("uid.Default 28-22-13", second(13, true), Default(nil), "the default layout"),
		row(SegmentTag, Rate{}, Segment(0), "`Tag.Next`, ranges from memory; ids carry no time"),
	}
}

func batches() []Contender {
	least := func(n int) Contender {
		name := "floor/store " + human.Count(int64(n))
		return Contender{name, Batch, name, 0, Rate{}, "", store(n)}
	}
	own := func(name string, n int, o *uid.Options) Contender {
		return Contender{name + ", Fill of " + human.Count(int64(n)), Batch, least(n).Name, 63,
			second(13, false), "", fill(n, o)}
	}
	return []Contender{least(256), least(1024), own(OneLane, 256, nil), own(OneLane, 1024, nil),
		own(ManyLanes, 256, &uid.Options{Lanes: uid.AutoLanes})}
}

// Cached is the Start of a loop of Next of a uid.Cached.
//
//go:noinline
func Cached(o *uid.Options) Start {
	return func() (Loop, func() error, error) {
		ctx := context.Background()
		g, err := uid.NewCached(ctx, claimtest.Static(worker), o)
		return func(n int) error {
			return repeat(n, func() error { _, err := g.Next(ctx); return err })
		}, g.Close, err
	}
}

// Default is the Start of a loop of Next of a uid.Default.
//
//go:noinline
func Default(o *uid.DefaultOptions) Start {
	return func() (Loop, func() error, error) {
		ctx := context.Background()
		g, err := uid.NewDefault(ctx, claimtest.Static(worker), o)
		return func(n int) error {
			return repeat(n, func() error { _, err := g.Next(ctx); return err })
		}, g.Close, err
	}
}

func fill(ids int, o *uid.Options) Start {
	return func() (Loop, func() error, error) {
		ctx := context.Background()
		g, err := uid.NewCached(ctx, claimtest.Static(worker), o)
		bufs := &sync.Pool{New: func() any { s := make([]uid.ID, ids); return &s }}
		return func(n int) error {
			buf := bufs.Get().(*[]uid.ID) //nolint:errcheck // all it has
			for ; n > 0; n -= ids {
				if _, err := g.Fill(ctx, (*buf)[:min(n, ids)]); err != nil {
					return err
				}
			}
			bufs.Put(buf)
			return nil
		}, g.Close, err
	}
}

// away is a source of ranges in memory that answers after a while, as a database does.
type away struct {
	segmenttest.Counters
	after time.Duration
}

func (a *away) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	select {
	case <-time.After(a.after):
		return a.Counters.Fetch(ctx, tag, step)
	case <-ctx.Done():
		return segment.Range{}, ctx.Err()
	}
}

// Segment is the Start of a loop of Next of a tag, whose database is so far away.
//
//go:noinline
func Segment(after time.Duration) Start {
	return func() (Loop, func() error, error) {
		ctx, src := context.Background(), &away{after: after}
		err := src.Set(ctx, segment.Row{Tag: "order", Step: 1000})
		g, more := segment.New(ctx, src, nil)
		if err := errors.Join(err, more); err != nil {
			return nil, nil, err
		}
		tag, err := g.Tag(ctx, "order")
		return func(n int) error {
			return repeat(n, func() error { _, err := tag.Next(ctx); return err })
		}, g.Close, err
	}
}

// Number is the Start of a loop of Next of a number, whose database is so far away.
//
//go:noinline
func Number(after time.Duration) Start {
	return func() (Loop, func() error, error) {
		ctx := context.Background()
		g, err := segment.New(ctx, &away{after: after}, nil)
		if err != nil {
			return nil, nil, err
		}
		const format = "{shop upper 2}-{20060102}-{n 12 day}-{check mod37,36}"
		orders, err := number.New(ctx, g, "order", format, nil)
		return func(n int) error {
			return repeat(n, func() error { _, err := orders.Next(ctx, "BJ"); return err })
		}, g.Close, err
	}
}
