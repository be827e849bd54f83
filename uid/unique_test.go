package uid_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// take makes n ids on each of several goroutines, by Next and by Fill in turns, and records each.
func take(t *testing.T, g uid.Generator, r *record, goroutines, n int) {
	t.Helper()
	var wg sync.WaitGroup
	for k := range goroutines {
		wg.Go(func() {
			ctx, buf := context.Background(), make([]uid.ID, 1+k*37%200)
			for left := n; left > 0; {
				got := 1
				if left%3 == 0 {
					var err error
					if got, err = g.Fill(ctx, buf[:min(left, len(buf))]); err != nil {
						t.Error(err)
						return
					}
				} else {
					id, err := g.Next(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					buf[0] = id
				}
				for i, id := range buf[:got] {
					if !r.add(id) {
						return
					}
					if i > 0 && id <= buf[i-1] {
						t.Errorf("Fill gave %d after %d", id, buf[i-1])
						return
					}
				}
				left -= got
			}
		})
	}
	wg.Wait()
}

func TestCachedExactlyOnce(t *testing.T) {
	t.Parallel()
	n := 60_000 / scale
	if testing.Short() {
		n = 5_000 / scale
	}
	for _, seqBits := range []int{3, 5, 13} {
		for _, run := range []int{0, 1, 2, 8} {
			for _, lanes := range []int{0, 4, uid.AutoLanes} {
				for _, policy := range []uid.TakePolicy{uid.TakePad, uid.TakeWait} {
					for _, boost := range []int{uid.NoBoost, 3} {
						o := &uid.Both{Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: seqBits},
							RunLength: run, Lanes: lanes, TakePolicy: policy, BoostPower: boost}
						name := fmt.Sprintf("seq=%d/run=%d/lanes=%d/policy=%d/boost=%d",
							seqBits, run, lanes, policy, boost)
						t.Run(name, func(t *testing.T) {
							t.Parallel()
							c := newCached(t, o)
							alloc := allocator(t, o.Layout)
							r := newRecord(alloc, time.Now().Add(-time.Minute), int64(8*n)+1<<22)
							take(t, c, r, 4, n)
							r.check(t, int64(4*n))
						})
					}
				}
			}
		}
	}
}

// TestCachedStrictlyIncreasing checks the order in real time: an id taken after another was
// returned is the larger one.
func TestCachedStrictlyIncreasing(t *testing.T) {
	t.Parallel()
	for _, run := range []int{0, 1, 4} {
		t.Run(fmt.Sprintf("run=%d", run), func(t *testing.T) {
			t.Parallel()
			c := newCached(t, &uid.Both{RunLength: run,
				Layout: bitsalloc.Layout{TimeBits: 40, WorkerBits: 4, SeqBits: 6}})
			var newest atomic.Int64
			var wg sync.WaitGroup
			for k := range 4 {
				wg.Go(func() {
					buf := make([]uid.ID, 1+k*k)
					for i := range 30_000 / scale {
						before := newest.Load()
						n := 1
						var err error
						if i%5 == 0 {
							n, err = c.Fill(context.Background(), buf)
						} else {
							buf[0], err = c.Next(context.Background())
						}
						if err != nil {
							t.Error(err)
							return
						}
						if int64(buf[0]) <= before {
							t.Errorf("id %d came after %d had been returned", buf[0], before)
							return
						}
						for last := int64(buf[n-1]); ; {
							m := newest.Load()
							if m >= last || newest.CompareAndSwap(m, last) {
								break
							}
						}
					}
				})
			}
			wg.Wait()
		})
	}
}

// TestCachedNothingWasted takes several times what the ring holds: every tick after the first is
// handed out whole.
func TestCachedNothingWasted(t *testing.T) {
	t.Parallel()
	for _, o := range []*uid.Both{nil, {RunLength: 1}, {TakePolicy: uid.TakeWait},
		{PaddingFactor: 100, BoostPower: uid.NoBoost}} {
		c := newCached(t, o)
		alloc := allocator(t, bitsalloc.Layout{})
		const n = 40 * 8192
		perTick := map[int64]int64{}
		var first, last int64
		for i := range n {
			id, err := c.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			tick, _, _, _ := alloc.Split(int64(id))
			if perTick[tick]++; i == 0 {
				first = tick
			}
			last = tick
		}
		for tick := first + 1; tick < last; tick++ {
			if perTick[tick] != 8192 {
				t.Errorf("options %+v: tick %d has %d ids, want all 8192", o, tick, perTick[tick])
			}
		}
		if last-first < 38 {
			t.Errorf("%d ids took %d ticks, want about 40", n, last-first+1)
		}
	}
}
