//go:build !race

package uid_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// scale divides sizes: simulated time is slow under the race detector.
const scale = 1

// The tests below mean nothing under the race detector, which allocates and slows down.

func TestCachedHundredsOfMillions(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: long: 200 million ids")
	}
	for _, o := range []*uid.Both{nil, {Lanes: uid.AutoLanes}} {
		name := "lanes=1"
		if o != nil {
			name = "lanes=auto"
		}
		t.Run(name, func(t *testing.T) {
			const total = 100_000_000
			c := newCached(t, o)
			r := newRecord(allocator(t, bitsalloc.Layout{}), time.Now().Add(-time.Minute), total+1<<23)
			var wg sync.WaitGroup
			for k := range 8 {
				wg.Go(func() {
					ctx, buf := context.Background(), make([]uid.ID, 64+k)
					for left := total / 8; left > 0; {
						got := min(left, 64)
						for i := range got {
							id, err := c.Next(ctx)
							if err != nil {
								t.Error(err)
								return
							}
							buf[i] = id
						}
						for _, id := range buf[:got] {
							if !r.add(id) {
								return
							}
						}
						left -= got
					}
				})
			}
			wg.Wait()
			r.check(t, total)
		})
	}
}

func TestAllocations(t *testing.T) {
	ctx, ids := t.Context(), make([]uid.ID, 1024)
	gene := bitsalloc.Layout{TimeBits: 40, WorkerBits: 6, SeqBits: 13, GeneBits: 4}
	for name, g := range map[string]uid.Generator{
		"one lane": newCached(t, nil),
		"lanes":    newCached(t, &uid.Both{Lanes: uid.AutoLanes}),
		"run 1":    newCached(t, &uid.Both{RunLength: 1}),
		"gene":     newCached(t, &uid.Both{Layout: gene}),
	} {
		for call, f := range map[string]func() error{
			"Next":  func() error { _, err := g.Next(ctx); return err },
			"Fill":  func() error { _, err := g.Fill(ctx, ids); return err },
			"Stats": func() error { _ = g.Stats(); return nil },
		} {
			if got := testing.AllocsPerRun(2000, func() {
				if err := f(); err != nil {
					t.Fatal(err)
				}
			}); got != 0 {
				t.Errorf("%s: %s allocates %v times, want 0", name, call, got)
			}
		}
	}
}

func TestMemory(t *testing.T) {
	const n = 64 // a mean, because what the runtime itself allocates in between is not nothing
	for _, tc := range []struct {
		name string
		o    *uid.Both
		want int64 // bytes: the promised bound is 1 MiB, the one tested is today's size and some
	}{{"default", nil, 40 << 10}, {"lanes", &uid.Both{Lanes: uid.AutoLanes}, 64 << 10},
		{"run 1", &uid.Both{RunLength: 1}, 5 << 20}} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&before)
		var all [n]*uid.Cached
		for i := range all {
			all[i] = newCached(t, tc.o)
		}
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&after)
		got := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / n
		t.Logf("%s: a generator holds %d bytes", tc.name, got)
		if got <= 0 || got > tc.want {
			t.Errorf("%s: a generator holds %d bytes, want 1 to %d", tc.name, got, tc.want)
		}
		runtime.KeepAlive(all)
	}
}
