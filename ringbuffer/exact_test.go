package ringbuffer_test

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// bitmap has one bit for each uid, so that a uid that is seen twice and one that is never seen
// cannot cancel each other out.
type bitmap []atomic.Uint64

func newBitmap(n int64) bitmap { return make(bitmap, (n+63)/64) }

// set sets bit i and reports whether it was clear.
func (m bitmap) set(i int64) bool {
	bit := uint64(1) << (i % 64)
	return m[i/64].Or(bit)&bit == 0
}

// has reports whether bit i is set.
func (m bitmap) has(i int64) bool { return m[i/64].Load()>>(i%64)&1 == 1 }

// mix is one way of using a ring from many goroutines.
type mix struct {
	name            string
	putters, takers int
	putBatch        int // 0: TryPut
	takeBatch       int // 0: TryTake
	droppers        int // goroutines that call DropBelow

}

// high marks the uids that the droppers must not discard: it is above their limit.
const high = int64(1) << 40

// run puts total uids and takes or drops them all, and checks that each comes out exactly once, in
// the order of its putter. The uid of index i is i, with the mark high when i/putters is odd:
// droppers meet their limit at every other uid.
func (m mix) run(t *testing.T, size int, last, total int64) {
	r := newRing(t, size, nil)
	r.Start(last)
	seen := newBitmap(total)
	var out, dropped atomic.Int64 // uids that left the ring, and those of them that were discarded
	var wg sync.WaitGroup
	uidOf := func(i int64) int64 {
		if i/int64(m.putters)%2 == 1 {
			return i | high
		}
		return i
	}
	for p := range int64(m.putters) {
		wg.Go(func() {
			batch := make([]int64, max(m.putBatch, 1))
			for i := p; i < total; {
				n := 0
				for j := i; j < total && n < len(batch); j += int64(m.putters) {
					batch[n] = uidOf(j)
					n++
				}
				if m.putBatch > 0 {
					n = r.TryPutN(batch[:n])
				} else if n = 0; r.TryPut(batch[0]) {
					n = 1
				}
				i += int64(n * m.putters)
				if n == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for range m.takers {
		wg.Go(func() {
			batch := make([]int64, max(m.takeBatch, 1))
			newest := make([]int64, m.putters)
			for i := range newest {
				newest[i] = -1
			}
			for out.Load() < total {
				n := 0
				if m.takeBatch > 0 {
					n = r.TryTakeN(batch)
				} else if uid, ok := r.TryTake(); ok {
					batch[0], n = uid, 1
				}
				for _, uid := range batch[:n] {
					i := uid &^ high
					if i < 0 || i >= total || uid != uidOf(i) {
						t.Errorf("took %d, which was never put", uid)
						continue
					}
					if !seen.set(i) {
						t.Errorf("took %d twice", i)
					}
					if p := i % int64(m.putters); newest[p] >= i {
						t.Errorf("took %d after %d of the same putter", i, newest[p])
					} else {
						newest[p] = i
					}
				}
				out.Add(int64(n))
				if n == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	for range m.droppers {
		wg.Go(func() {
			for out.Load() < total {
				n := int64(r.DropBelow(high))
				dropped.Add(n)
				out.Add(n)
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	if got := out.Load(); got != total {
		t.Errorf("%d uids left the ring, want %d", got, total)
	}
	var missing int64
	for i := range total {
		if seen.has(i) {
			continue
		}
		missing++
		if uidOf(i) >= high {
			t.Errorf("uid %d is lost", i)
		}
	}
	if missing != dropped.Load() {
		t.Errorf("%d uids were not taken, want %d, the number that DropBelow returned", missing, dropped.Load())
	}
	if r.Len() != 0 || r.Tail() != last+total || r.Cursor() != last+total {
		t.Errorf("Len, Tail, Cursor = %d, %d, %d, want 0, %d, %d", r.Len(), r.Tail(), r.Cursor(),
			last+total, last+total)
	}
}

func TestExactlyOnce(t *testing.T) {
	t.Parallel()
	mixes := []mix{
		{name: "one putter", putters: 1, takers: 4},
		{name: "putters", putters: 3, takers: 8},
		{name: "batches", putters: 2, takers: 4, putBatch: 5, takeBatch: 3},
		{name: "batch put", putters: 2, takers: 6, putBatch: 16},
		{name: "batch take", putters: 1, takers: 3, takeBatch: 8},
		{name: "drop", putters: 1, takers: 3, droppers: 1},
		{name: "drop batches", putters: 2, takers: 2, putBatch: 4, takeBatch: 4, droppers: 2},
	}
	// Positions that cross a boundary of 31, 32 and 63 bits on the way, and the usual start.
	starts := []int64{-1, 1<<31 - 1000, 1<<32 - 1000, math.MaxInt64 - 1000}
	total := int64(60_000 / scale)
	for _, m := range mixes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			for i, size := range []int{1, 2, 4, 8, 256} {
				t.Run(fmt.Sprintf("size %d", size), func(t *testing.T) {
					m.run(t, size, starts[i%len(starts)], total)
				})
			}
		})
	}
}

// TestNeverEmptyNorFull passes as many uids around as there are goroutines, each of which holds at
// most one: a taker leaves nobody without, and a putter has room. Neither may fail, however often
// the others overtake.
func TestNeverEmptyNorFull(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 4, 8} {
		r := newRing(t, n, nil)
		r.TryPutN(seq(n))
		var wg sync.WaitGroup
		for g := range n {
			wg.Go(func() {
				one := make([]int64, 1)
				for i := range 1_000_000 / scale / n {
					if (g+i)%2 == 0 {
						if r.TryTakeN(one) != 1 {
							t.Errorf("%d goroutines: TryTakeN = 0 although the ring is never empty", n)
							return
						}
						if r.TryPutN(one) != 1 {
							t.Errorf("%d goroutines: TryPutN = 0 although the ring is never full", n)
							return
						}
						continue
					}
					uid, ok := r.TryTake()
					if !ok {
						t.Errorf("%d goroutines: TryTake = false although the ring is never empty", n)
						return
					}
					if !r.TryPut(uid) {
						t.Errorf("%d goroutines: TryPut = false although the ring is never full", n)
						return
					}
				}
			})
		}
		wg.Wait()
		if r.Len() != n && !t.Failed() {
			t.Errorf("%d goroutines: Len() = %d at the end", n, r.Len())
		}
	}
}

// TestBatchAtOnce checks that the uids of a batch appear together: a taker of the first finds the
// rest.
func TestBatchAtOnce(t *testing.T) {
	t.Parallel()
	const batch = 16
	total := int64(50_000 / scale * batch)
	r := newRing(t, 2*batch, nil)
	var torn atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		uids := make([]int64, batch)
		for i := int64(0); i < total && !torn.Load(); i += batch {
			for k := range uids {
				uids[k] = i + int64(k)
			}
			for r.Len() > batch && !torn.Load() {
				runtime.Gosched()
			}
			if n := r.TryPutN(uids); n != batch && !torn.Load() {
				t.Errorf("TryPutN = %d, want %d", n, batch)
			}
		}
	})
	for i := range total {
		uid, ok := r.TryTake()
		for !ok && i%batch == 0 {
			runtime.Gosched()
			uid, ok = r.TryTake()
		}
		if !ok || uid != i {
			t.Errorf("TryTake = %d, %t, want %d: uid %d of its batch is late", uid, ok, i, i%batch)
			torn.Store(true)
			break
		}
	}
	wg.Wait()
}

// TestLenBounds checks that what Len, Tail and Cursor say under load is possible at all.
func TestLenBounds(t *testing.T) {
	t.Parallel()
	r := newRing(t, 4, nil)
	var done atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for !done.Load() {
			if !r.TryPut(1) {
				runtime.Gosched()
			}
		}
	})
	wg.Go(func() {
		for !done.Load() {
			if _, ok := r.TryTake(); !ok {
				runtime.Gosched()
			}
		}
	})
	tail, cursor := r.Tail(), r.Cursor()
	for range 100_000 / scale {
		if n := r.Len(); n < 0 || n > r.Cap() {
			t.Errorf("Len() = %d, want 0 to %d", n, r.Cap())
			break
		}
		c, l := r.Cursor(), r.Tail()
		if c < cursor || l < tail {
			t.Errorf("Cursor, Tail went from %d, %d to %d, %d, want no decrease", cursor, tail, c, l)
			break
		}
		tail, cursor = l, c
	}
	done.Store(true)
	wg.Wait()
}
