package ringbuffer_test

import (
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// newRing returns a ring, or ends the test.
func newRing(tb testing.TB, size int, opts *ringbuffer.Options) *ringbuffer.Ring {
	tb.Helper()
	r, err := ringbuffer.New(size, opts)
	if err != nil {
		tb.Fatalf("New(%d) = %v, want no error", size, err)
	}
	return r
}

// wantTake takes a uid with TryTake and compares it.
func wantTake(tb testing.TB, r *ringbuffer.Ring, want int64) {
	tb.Helper()
	if uid, ok := r.TryTake(); uid != want || !ok {
		tb.Fatalf("TryTake() = %d, %t, want %d, true", uid, ok, want)
	}
}

// wantEmpty takes with TryTake from an empty ring.
func wantEmpty(tb testing.TB, r *ringbuffer.Ring) {
	tb.Helper()
	if uid, ok := r.TryTake(); uid != 0 || ok {
		tb.Fatalf("TryTake() = %d, %t on an empty ring, want 0, false", uid, ok)
	}
	if n := r.Len(); n != 0 {
		tb.Fatalf("Len() = %d on an empty ring, want 0", n)
	}
}

// wantPut puts a uid with TryPut.
func wantPut(tb testing.TB, r *ringbuffer.Ring, uid int64) {
	tb.Helper()
	if !r.TryPut(uid) {
		tb.Fatalf("TryPut(%d) = false with Len %d of %d, want true", uid, r.Len(), r.Cap())
	}
}

func TestNewRejects(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		size int
		opts *ringbuffer.Options
		want []string
	}{
		{"zero", 0, nil, []string{"size is 0", "1..67108864"}},
		{"negative", -8, nil, []string{"size is -8"}},
		{"smallest int", math.MinInt, nil, []string{"size is -"}},
		{"no power of two", 12, nil, []string{"size is 12", "power of two"}},
		{"one too few", 1<<16 - 1, nil, []string{"size is 65535"}},
		{"over the bound", ringbuffer.MaxSize * 2, nil, []string{"size is 134217728", "1..67108864"}},
		{"put policy", 8, &ringbuffer.Options{PutPolicy: ringbuffer.PutFail + 1},
			[]string{"PutPolicy is 2", "PutDiscard (0)", "PutFail (1)"}},
		{"take policy", 8, &ringbuffer.Options{TakePolicy: 255}, []string{"TakePolicy is 255",
			"TakeReject (0)", "TakeWait (1)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := ringbuffer.New(c.size, c.opts)
			if r != nil || err == nil {
				t.Fatalf("New(%d) = %v, %v, want nil and an error", c.size, r, err)
			}
			if ringbuffer.MaxSize != 1<<26 {
				return // the texts are those of 64-bit machines
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("New(%d) = %q, want it to name %q", c.size, err, want)
				}
			}
		})
	}
}

func TestNewAccepts(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 1<<12; size *= 2 {
		for _, opts := range []*ringbuffer.Options{
			nil, {}, {PutPolicy: ringbuffer.PutFail, TakePolicy: ringbuffer.TakeWait},
		} {
			r := newRing(t, size, opts)
			if r.Cap() != size || r.Len() != 0 || r.Tail() != -1 || r.Cursor() != -1 {
				t.Errorf("New(%d): Cap, Len, Tail, Cursor = %d, %d, %d, %d, want %d, 0, -1, -1",
					size, r.Cap(), r.Len(), r.Tail(), r.Cursor(), size)
			}
			wantEmpty(t, r)
		}
	}
}

// TestNewKeepsOptions checks that a ring does not watch the caller's Options.
func TestNewKeepsOptions(t *testing.T) {
	t.Parallel()
	opts := &ringbuffer.Options{PutPolicy: ringbuffer.PutFail}
	r := newRing(t, 1, opts)
	opts.PutPolicy = ringbuffer.PutDiscard
	wantPut(t, r, 1)
	if err := r.Put(2); err != ringbuffer.ErrFull {
		t.Errorf("Put on a full ring = %v, want %v", err, ringbuffer.ErrFull)
	}
}

// TestLaps puts and takes whole and partial laps and checks order, Len, Tail and Cursor at each
// step.
func TestLaps(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 16; size *= 2 {
		r := newRing(t, size, nil)
		var put, took int64
		for lap := range 5 * size {
			for range lap%size + 1 {
				if !r.TryPut(put * 10) {
					break
				}
				put++
			}
			if got, want := r.Len(), int(put-took); got != want {
				t.Fatalf("size %d: Len() = %d, want %d", size, got, want)
			}
			if r.Len() == size && r.TryPut(-1) {
				t.Fatalf("size %d: TryPut on a full ring = true", size)
			}
			for range (lap*7)%size + 1 {
				if took == put {
					wantEmpty(t, r)
					break
				}
				wantTake(t, r, took*10)
				took++
			}
			if r.Tail() != put-1 || r.Cursor() != took-1 {
				t.Fatalf("size %d: Tail, Cursor = %d, %d, want %d, %d", size, r.Tail(), r.Cursor(), put-1, took-1)
			}
		}
	}
}

// TestAnyValue checks that no int64 means anything to the ring: there is no mark for an empty slot.
func TestAnyValue(t *testing.T) {
	t.Parallel()
	r := newRing(t, 2, nil)
	for _, uid := range []int64{0, -1, 1, math.MinInt64, math.MaxInt64, 0} {
		wantPut(t, r, uid)
		wantTake(t, r, uid)
	}
	wantEmpty(t, r)
}

func TestBatches(t *testing.T) {
	t.Parallel()
	r := newRing(t, 8, nil)
	dst := make([]int64, 16)
	if n := r.TryTakeN(dst); n != 0 {
		t.Fatalf("TryTakeN on an empty ring = %d, want 0", n)
	}
	if n := r.TryPutN(nil); n != 0 {
		t.Fatalf("TryPutN(nil) = %d, want 0", n)
	}
	if n := r.TryPutN([]int64{1, 2, 3}); n != 3 {
		t.Fatalf("TryPutN of 3 = %d, want 3", n)
	}
	if n := r.TryTakeN(nil); n != 0 {
		t.Fatalf("TryTakeN(nil) = %d, want 0", n)
	}
	if n := r.TryPutN([]int64{4, 5, 6, 7, 8, 9, 10}); n != 5 {
		t.Fatalf("TryPutN of 7 into a ring with room for 5 = %d, want 5", n)
	}
	if n := r.TryPutN([]int64{9}); n != 0 {
		t.Fatalf("TryPutN on a full ring = %d, want 0", n)
	}
	if n := r.TryTakeN(dst[:3]); n != 3 || dst[0] != 1 || dst[1] != 2 || dst[2] != 3 {
		t.Fatalf("TryTakeN = %d, %v, want 3, [1 2 3]", n, dst[:n])
	}
	// This batch wraps around the end of the slots.
	if n := r.TryPutN([]int64{9, 10, 11, 12}); n != 3 {
		t.Fatalf("TryPutN of 4 into a ring with room for 3 = %d, want 3", n)
	}
	n := r.TryTakeN(dst)
	if n != 8 {
		t.Fatalf("TryTakeN on a full ring = %d, want 8", n)
	}
	for k, uid := range dst[:n] {
		if uid != int64(k)+4 {
			t.Fatalf("TryTakeN = %v, want 4 to 11", dst[:n])
		}
	}
	wantEmpty(t, r)
}

// FuzzSequence runs one goroutine's operations on a ring and on a slice, which must agree on every
// result.
func FuzzSequence(f *testing.F) {
	f.Add(uint8(0), int64(-1), []byte{0, 1, 0, 1})
	f.Add(uint8(3), int64(math.MaxInt64-3), []byte{2, 255, 3, 7, 4, 99, 0, 1, 5})
	f.Fuzz(func(t *testing.T, log uint8, last int64, ops []byte) {
		size := 1 << (log % 6)
		r := newRing(t, size, nil)
		r.Start(last)
		var queue []int64
		var next int64
		dst := make([]int64, 64)
		for i, op := range ops {
			arg := int(op >> 3)
			switch op & 7 {
			case 0, 1:
				if got, want := r.TryPut(next), len(queue) < size; got != want {
					t.Fatalf("op %d: TryPut = %t, want %t", i, got, want)
				} else if got {
					queue = append(queue, next)
				}
				next++
			case 2:
				batch := make([]int64, arg)
				for k := range batch {
					batch[k] = next
					next++
				}
				n := r.TryPutN(batch)
				if want := min(arg, size-len(queue)); n != want {
					t.Fatalf("op %d: TryPutN = %d, want %d", i, n, want)
				}
				queue = append(queue, batch[:n]...)
			case 3, 4:
				if len(queue) == 0 {
					wantEmpty(t, r)
					continue
				}
				wantTake(t, r, queue[0])
				queue = queue[1:]
			case 5:
				n := r.TryTakeN(dst[:arg])
				if want := min(arg, len(queue)); n != want {
					t.Fatalf("op %d: TryTakeN = %d, want %d", i, n, want)
				}
				for k := range n {
					if dst[k] != queue[k] {
						t.Fatalf("op %d: TryTakeN gave %v, want %v", i, dst[:n], queue[:n])
					}
				}
				queue = queue[n:]
			default:
				limit := next - int64(arg)
				want := 0
				for want < len(queue) && queue[want] < limit {
					want++
				}
				if n := r.DropBelow(limit); n != want {
					t.Fatalf("op %d: DropBelow = %d, want %d", i, n, want)
				}
				queue = queue[want:]
			}
			if r.Len() != len(queue) {
				t.Fatalf("op %d: Len() = %d, want %d", i, r.Len(), len(queue))
			}
			if got := r.Tail() - r.Cursor(); got != int64(len(queue)) {
				t.Fatalf("op %d: Tail()-Cursor() = %d, want %d", i, got, len(queue))
			}
		}
	})
}

// TestOldest looks at the next uid through laps, and at one that a concurrent taker is after.
func TestOldest(t *testing.T) {
	t.Parallel()
	r := newRing(t, 4, nil)
	if uid, ok := r.Oldest(); ok {
		t.Fatalf("Oldest() = %d of an empty ring", uid)
	}
	for lap := range int64(10) {
		for k := range int64(3) {
			wantPut(t, r, 10*lap+k)
		}
		for k := range int64(3) {
			if uid, ok := r.Oldest(); uid != 10*lap+k || !ok {
				t.Fatalf("Oldest() = %d, %t, want %d", uid, ok, 10*lap+k)
			}
			wantTake(t, r, 10*lap+k)
		}
	}
	// Uids rise, so what Oldest shows never falls, and is never below one that was taken before.
	var taken atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for uid := int64(1000); uid < 21_000; {
			if r.TryPut(uid) {
				uid++
			} else if got, ok := r.TryTake(); ok {
				taken.Store(got)
			}
		}
	}()
	last := int64(0)
	for {
		before := taken.Load()
		if uid, ok := r.Oldest(); ok {
			if uid < last || uid <= before {
				t.Fatalf("Oldest() = %d after %d, when %d was taken", uid, last, before)
			}
			last = uid
		}
		select {
		case <-done:
			return
		default:
		}
	}
}

// TestTakeDuringPut takes while a put has published its uids and not yet the tail: the flags alone
// say what is there.
func TestTakeDuringPut(t *testing.T) {
	t.Parallel()
	for _, last := range []int64{-1, 6, math.MaxInt64 - 1} {
		for name, take := range map[string]func(r *ringbuffer.Ring) (n int){
			"TryTakeN":  func(r *ringbuffer.Ring) int { return r.TryTakeN(make([]int64, 3)) },
			"DropBelow": func(r *ringbuffer.Ring) int { return r.DropBelow(100) },
			"TryTake": func(r *ringbuffer.Ring) int {
				if _, ok := r.TryTake(); ok {
					return 1
				}
				return 0
			},
		} {
			r := newRing(t, 8, nil)
			r.Start(last)
			r.HalfPut(11, 12, 13)
			got := 0
			for range 4 {
				got += take(r)
			}
			if got != 3 {
				t.Errorf("from %d on %s found %d uids in four calls, want 3", last, name, got)
			}
		}
	}
}
