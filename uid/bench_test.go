package uid_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// These are for a quick look while working. What the documents say comes from the module bench,
// which measures a floor and what stands on it in the same rounds.

// counter's next is the least that a Next can be: a call, an add and two results.
type counter struct{ n atomic.Int64 }

//go:noinline
func (c *counter) next(context.Context) (uid.ID, error) { return uid.ID(c.n.Add(1)), nil }

// store is the least that a Fill can be: a call, and stores that the compiler cannot remove, eight
// a turn because it does not unroll.
//
//go:noinline
func store(ids []uid.ID, id uid.ID) {
	for ; len(ids) >= 8; ids = ids[8:] {
		d := (*[8]uid.ID)(ids)
		d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = id, id+1, id+2, id+3, id+4, id+5, id+6, id+7
		id += 8
	}
}

func BenchmarkFloor(b *testing.B) {
	c, ctx := new(counter), context.Background()
	b.Run("add", func(b *testing.B) {
		var n atomic.Int64
		for range b.N {
			n.Add(1)
		}
	})
	b.Run("add called", func(b *testing.B) {
		for range b.N {
			if _, err := c.next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("add called, shared", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := c.next(ctx); err != nil {
					b.Error(err)
				}
			}
		})
	})
	b.Run("store 1024", func(b *testing.B) {
		ids := make([]uid.ID, 1024)
		for i := range b.N {
			store(ids, uid.ID(i))
		}
	})
	b.Run("time.Now", func(b *testing.B) {
		for b.Loop() {
			time.Now()
		}
	})
}

func BenchmarkCached(b *testing.B) {
	ctx := context.Background()
	for _, x := range []struct {
		name string
		o    *uid.Options
	}{
		{"one lane", nil},
		{"many lanes", &uid.Options{Lanes: uid.AutoLanes}},
	} {
		c, err := uid.NewCached(ctx, claimtest.Static(1), x.o)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		b.Run(x.name+"/Next", func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := c.Next(ctx); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(x.name+"/Next, shared", func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Next(ctx); err != nil {
						b.Error(err)
					}
				}
			})
		})
		b.Run(x.name+"/Fill 1024", func(b *testing.B) {
			b.ReportAllocs()
			ids := make([]uid.ID, 1024)
			for range b.N {
				if _, err := c.Fill(ctx, ids); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDefault(b *testing.B) {
	ctx := context.Background()
	wide := bitsalloc.Layout{TimeBits: 31, WorkerBits: 4, SeqBits: 28}
	d, err := uid.NewDefault(ctx, claimtest.Static(1), &uid.DefaultOptions{Layout: wide})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { d.Close() })
	for range b.N {
		if _, err := d.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
}
