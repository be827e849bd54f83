package contender

import (
	"context"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// Names of the library's own rows that the targets are about.
const (
	CachedOneLane   = "uid.Cached"
	CachedManyLanes = "uid.Cached, many lanes"
	CachedOriginal  = "uid.Cached, RunLength 1"
	CachedFill      = "uid.Cached, Fill 256"
	CachedManyFill  = "uid.Cached, many lanes, Fill 256"
	DefaultWide     = "uid.Default 31-4-28"
	DefaultNarrow   = "uid.Default 28-22-13"
	CachedTwitter   = "uid.Cached, Twitter's layout"
	DefaultTwitter  = "uid.Default, Twitter's layout"

	AtomicAdd    = "floor/atomic.Add"
	AtomicAddOwn = "floor/atomic.Add own word"
	TimeNow      = "floor/time.Now"
	WUID         = "edwingeng/wuid"
)

// FillSize is the number of ids in a call of Fill.
const FillSize = 256

// worker is the worker id of every generator here. They all share it, so ids of two instances may be equal; what is counted
// once is the ids of one instance.
const worker = 1

// WideLayout gives a generator that asks the clock for every id more sequence numbers than it can use: 268 million a
// second.
func WideLayout() bitsalloc.Layout { return bitsalloc.Layout{TimeBits: 31, WorkerBits: 4, SeqBits: 28} }

func owns() []Contender {
	second := PerTick(1<<bitsalloc.DefaultSeqBits, bitsalloc.DefaultTick, Borrows)
	return []Contender{
		{Name: CachedOneLane, Group: Own, Bits: 63, Time: true, Ceiling: second, New: Cached(nil), Note: "one lane: ids strictly increase"},
		{Name: CachedManyLanes, Group: Own, Bits: 63, Time: true, Ceiling: second, New: Cached(&uid.Options{Lanes: uid.AutoLanes}),
			Note: "Lanes: AutoLanes: ids increase per lane"},
		{Name: CachedOriginal, Group: Own, Bits: 63, Time: true, Ceiling: second, New: Cached(&uid.Options{RunLength: 1}),
			Note: "one id per ring slot, the original's design"},
		{Name: CachedFill, Group: Own, Bits: 63, Time: true, Ceiling: second, New: Filled(nil), Note: "256 ids per call"},
		{Name: CachedManyFill, Group: Own, Bits: 63, Time: true, Ceiling: second, New: Filled(&uid.Options{Lanes: uid.AutoLanes}),
			Note: "256 ids per call"},
		{Name: DefaultWide, Group: Own, Bits: 63, Time: true, New: Default(&uid.Options{Layout: WideLayout()}),
			Ceiling: PerTick(1<<28, time.Second, Waits), Note: "asks the clock for every id; a layout wide enough not to be the limit"},
		{Name: DefaultNarrow, Group: Own, Bits: 63, Time: true, New: Default(nil),
			Ceiling: PerTick(1<<bitsalloc.DefaultSeqBits, bitsalloc.DefaultTick, Waits), Note: "asks the clock for every id; the original's layout"},
		{Name: CachedTwitter, Group: Own, Bits: 63, Time: true, New: Cached(&uid.Options{Layout: bitsalloc.Twitter()}),
			Ceiling: PerTick(1<<12, time.Millisecond, Borrows), Note: "Twitter's layout through the cached generator: beside bwmarrin/snowflake"},
		{Name: DefaultTwitter, Group: Own, Bits: 63, Time: true, New: Default(&uid.Options{Layout: bitsalloc.Twitter()}),
			Ceiling: PerTick(1<<12, time.Millisecond, Waits), Note: "Twitter's layout, the clock asked for every id"},
	}
}

// Cached returns the New of a contender that calls Next on a uid.Cached with the options o.
func Cached(o *uid.Options) func() (*Instance, error) {
	return func() (*Instance, error) {
		ctx := context.Background()
		g, err := uid.NewCached(ctx, assigner.Static(worker), o)
		if err != nil {
			return nil, err
		}
		return &Instance{
			Close: func() { _ = g.Close() },
			Keys:  integers(func() (int64, error) { id, err := g.Next(ctx); return int64(id), err }),
			Run: func(n int) error {
				for range n {
					if _, err := g.Next(ctx); err != nil {
						return err
					}
				}
				return nil
			},
		}, nil
	}
}

// Filled is Cached with Fill in place of Next.
func Filled(o *uid.Options) func() (*Instance, error) {
	return func() (*Instance, error) {
		ctx := context.Background()
		g, err := uid.NewCached(ctx, assigner.Static(worker), o)
		if err != nil {
			return nil, err
		}
		buffers := sync.Pool{New: func() any { return new([FillSize]uid.ID) }}
		return &Instance{
			Close: func() { _ = g.Close() },
			Keys: func(dst []Key) error {
				ids := make([]uid.ID, len(dst))
				n, err := g.Fill(ctx, ids)
				for i, id := range ids[:n] {
					dst[i] = Key{Lo: uint64(id)}
				}
				return err
			},
			Run: func(n int) error {
				ids := buffers.Get().(*[FillSize]uid.ID) //nolint:errcheck // the pool has nothing else
				defer buffers.Put(ids)
				for ; n > 0; n -= FillSize {
					if _, err := g.Fill(ctx, ids[:min(n, FillSize)]); err != nil {
						return err
					}
				}
				return nil
			},
		}, nil
	}
}

// Default returns the New of a contender that calls Next on a uid.Default with the options o.
func Default(o *uid.Options) func() (*Instance, error) {
	return func() (*Instance, error) {
		ctx := context.Background()
		g, err := uid.NewDefault(ctx, assigner.Static(worker), o)
		if err != nil {
			return nil, err
		}
		return &Instance{
			Close: func() { _ = g.Close() },
			Keys:  integers(func() (int64, error) { id, err := g.Next(ctx); return int64(id), err }),
			Run: func(n int) error {
				for range n {
					if _, err := g.Next(ctx); err != nil {
						return err
					}
				}
				return nil
			},
		}, nil
	}
}
