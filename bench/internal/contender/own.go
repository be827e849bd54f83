package contender

import (
	"context"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/uid"
)

// Names of the library's rows that targets are about.
const (
	OneLane        = "uid.Cached"
	ManyLanes      = "uid.Cached, many lanes"
	OneLaneWide    = "uid.Cached 31-4-28"
	DefaultWide    = "uid.Default 31-4-28"
	DefaultNarrow  = "uid.Default 28-22-13"
	DefaultTwitter = "uid.Default 41-10-12 ms"

	Fill256      = "uid.Cached, Fill of 256"
	Fill1024     = "uid.Cached, Fill of 1,024"
	ManyFill256  = "uid.Cached, many lanes, Fill of 256"
	ManyFill1024 = "uid.Cached, many lanes, Fill of 1,024"
)

// worker is the worker id of every generator here. They share it, so ids of two instances may be
// equal; only ids of one instance are compared.
const worker = 1

// wide has room for 268 million ids a second: more than one goroutine can take.
func wide() bitsalloc.Layout { return bitsalloc.Layout{TimeBits: 31, WorkerBits: 4, SeqBits: 28} }

// second returns the rate of a layout with one-second ticks.
func second(seqBits int, beyond Beyond) Rate { return perTick(1<<seqBits, time.Second, beyond) }

// narrow is the default layout's sequence, in bits.
const narrow = 13

func owns() []Contender {
	row := func(name string, r Rate, start func() (Instance, error), note string) Contender {
		return Contender{Name: name, Group: Own, Bits: 63, Time: true, Rate: r,
			New: start, Note: note}
	}
	return []Contender{
		row(OneLane, second(narrow, Borrows), Cached(nil),
			"the default: one lane, strictly increasing ids, layout 28-22-13"),
		row(ManyLanes, second(narrow, Borrows), Cached(&uid.Options{Lanes: uid.AutoLanes}),
			"`Lanes: uid.AutoLanes`: ids increase per lane"),
		row(OneLaneWide, second(28, Borrows), Cached(&uid.Options{Layout: wide()}),
			"one lane on a layout that one goroutine cannot use up: it borrows nothing"),
		row(DefaultWide, second(28, Waits), Default(&uid.DefaultOptions{Layout: wide()}),
			"asks the clock for every id; a layout that is not its limit"),
		row(DefaultTwitter, perTick(1<<12, time.Millisecond, Waits),
			Default(&uid.DefaultOptions{Layout: compat.Twitter()}),
			"the same on Twitter's layout, which bwmarrin/snowflake has as well"),
		row(DefaultNarrow, second(narrow, Waits), Default(nil), "the same on the default layout"),
	}
}

func batches() []Contender {
	row := func(name string, n int, o *uid.Options) Contender {
		return Contender{Name: name, Group: Batch, Bits: 63, Time: true,
			Rate: second(narrow, Borrows), New: filled(n, o)}
	}
	many := &uid.Options{Lanes: uid.AutoLanes}
	return append(storeFloors(), row(Fill256, 256, nil), row(Fill1024, 1024, nil),
		row(ManyFill256, 256, many), row(ManyFill1024, 1024, many))
}

// Cached returns the New of a contender that calls Next of a uid.Cached.
func Cached(o *uid.Options) func() (Instance, error) {
	return func() (Instance, error) {
		g, err := uid.NewCached(context.Background(), assignertest.Static(worker), o)
		return cached{g}, err
	}
}

type cached struct{ g *uid.Cached }

func (c cached) Run(n int) error {
	ctx := context.Background()
	for range n {
		if _, err := c.g.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (c cached) Keys(dst []Key) error { return keysOf(c.g, dst) }
func (c cached) Close()               { _ = c.g.Close() }

// Default returns the New of a contender that calls Next of a uid.Default.
func Default(o *uid.DefaultOptions) func() (Instance, error) {
	return func() (Instance, error) {
		g, err := uid.NewDefault(context.Background(), assignertest.Static(worker), o)
		return byClock{g}, err
	}
}

type byClock struct{ g *uid.Default }

func (d byClock) Run(n int) error {
	ctx := context.Background()
	for range n {
		if _, err := d.g.Next(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d byClock) Keys(dst []Key) error { return keysOf(d.g, dst) }
func (d byClock) Close()               { _ = d.g.Close() }

func keysOf(g uid.Generator, dst []Key) error {
	return each(dst, func() (Key, error) {
		id, err := g.Next(context.Background())
		return integer(int64(id)), err
	})
}

// filled returns the New of a contender that calls Fill of a uid.Cached for n ids at a time.
func filled(n int, o *uid.Options) func() (Instance, error) {
	return func() (Instance, error) {
		g, err := uid.NewCached(context.Background(), assignertest.Static(worker), o)
		return fill{cached{g}, newBuffers[uid.ID](n)}, err
	}
}

type fill struct {
	cached
	bufs buffers[uid.ID]
}

func (f fill) Run(n int) error {
	buf, ctx := f.bufs.get(), context.Background()
	for ; n > 0; n -= len(*buf) {
		if _, err := f.g.Fill(ctx, (*buf)[:min(n, len(*buf))]); err != nil {
			return err
		}
	}
	f.bufs.put(buf)
	return nil
}

func (f fill) Keys(dst []Key) error {
	buf := f.bufs.get()
	defer f.bufs.put(buf)
	for len(dst) > 0 {
		n, err := f.g.Fill(context.Background(), (*buf)[:min(len(dst), len(*buf))])
		if err != nil {
			return err
		}
		for i, id := range (*buf)[:n] {
			dst[i] = integer(int64(id))
		}
		dst = dst[n:]
	}
	return nil
}
