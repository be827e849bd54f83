package uid_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/uid"
)

// The floors. What an id costs is stated as a ratio to these, measured in the same run.

func BenchmarkFloorAdd(b *testing.B) {
	var n atomic.Int64
	for range b.N {
		n.Add(1)
	}
}

// counter's next is what the least possible Next would be: a call that is not inlined, an add, and two results.
type counter struct{ n atomic.Int64 }

//go:noinline
func (c *counter) next(context.Context) (uid.ID, error) { return uid.ID(c.n.Add(1)), nil }

func BenchmarkFloorAddCall(b *testing.B) {
	c, ctx := new(counter), context.Background()
	for range b.N {
		if _, err := c.next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFloorAddCallShared(b *testing.B) {
	c, ctx := new(counter), context.Background()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := c.next(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkFloorLoadCAS(b *testing.B) {
	var n atomic.Int64
	for range b.N {
		for {
			if w := n.Load(); n.CompareAndSwap(w, w+1) {
				break
			}
		}
	}
}

func BenchmarkFloorAddShared(b *testing.B) {
	var n atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n.Add(1)
		}
	})
}

func BenchmarkFloorStore1024(b *testing.B) {
	ids := make([]uid.ID, 1024)
	next := uid.ID(1)
	for range b.N {
		for i := range ids {
			ids[i] = next
			next++
		}
	}
}

func cached(b *testing.B, o *uid.Options) *uid.Cached {
	b.Helper()
	c, err := uid.NewCached(b.Context(), assigner.Static(1), o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	b.ReportAllocs()
	b.ResetTimer()
	return c
}

func next(b *testing.B, g uid.Generator) {
	ctx := context.Background()
	for range b.N {
		if _, err := g.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func nextParallel(b *testing.B, g uid.Generator) {
	ctx := context.Background()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.Next(ctx); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkCachedNext(b *testing.B) {
	c, ctx := cached(b, nil), context.Background()
	for range b.N {
		if _, err := c.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCachedNextParallel(b *testing.B) { nextParallel(b, cached(b, nil)) }
func BenchmarkCachedNextLanes(b *testing.B)    { next(b, cached(b, &uid.Options{Lanes: uid.AutoLanes})) }
func BenchmarkCachedNextLanesParallel(b *testing.B) {
	nextParallel(b, cached(b, &uid.Options{Lanes: uid.AutoLanes}))
}
func BenchmarkCachedNextRun1(b *testing.B) { next(b, cached(b, &uid.Options{RunLength: 1})) }
func BenchmarkCachedNextRun1Parallel(b *testing.B) {
	nextParallel(b, cached(b, &uid.Options{RunLength: 1}))
}

func BenchmarkCachedFill1024(b *testing.B) {
	c, ctx := cached(b, nil), context.Background()
	ids := make([]uid.ID, 1024)
	for range b.N {
		if _, err := c.Fill(ctx, ids); err != nil {
			b.Fatal(err)
		}
	}
}
