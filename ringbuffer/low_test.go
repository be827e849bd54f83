package ringbuffer_test

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/ringbuffer"
)

func TestLow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		size, factor int
		low          int // the largest Len that is low
	}{
		{1, 0, 0}, {1, 1, 0}, {1, 100, 0},
		{2, 50, 0}, {2, 51, 1}, {2, 100, 1},
		{8, 0, 3}, {8, 50, 3}, {8, 12, 0}, {8, 13, 1}, {8, 25, 1}, {8, 99, 7}, {8, 100, 7},
		{1 << 10, 50, 511}, {1 << 10, 1, 10},
	} {
		r := newRing(t, c.size, &ringbuffer.Options{PaddingFactor: c.factor})
		for n := range c.size + 1 {
			if got, want := r.Low(), n <= c.low; got != want {
				t.Errorf("size %d, %d percent: Low() = %t with Len %d, want %t", c.size, c.factor, got, n, want)
			}
			r.TryPut(0)
		}
	}
}

// TestOnLow counts the calls of the hook over falls and rises of the ring.
func TestOnLow(t *testing.T) {
	t.Parallel()
	calls := 0
	r := newRing(t, 8, &ringbuffer.Options{OnLow: func() { calls++ }}) // low with 3 and fewer
	want := func(n int, when string) {
		t.Helper()
		if calls != n {
			t.Fatalf("%s: OnLow was called %d times, want %d", when, calls, n)
		}
	}
	take := func(n int) {
		t.Helper()
		for range n {
			if _, ok := r.TryTake(); !ok {
				t.Fatal("the ring is empty")
			}
		}
	}
	r.TryPutN(seq(3))
	take(3)
	want(0, "a ring that was never filled to the threshold")
	r.TryPutN(seq(8))
	take(4)
	want(0, "half full")
	take(1)
	want(1, "below half")
	take(3)
	want(1, "empty")
	r.TryPutN(seq(3))
	take(3)
	want(1, "refilled, but not to the threshold")
	r.TryPutN(seq(3))
	r.TryPut(0)
	want(1, "refilled to the threshold")
	take(1)
	want(2, "below half again")
	r.TryPutN(seq(8))
	if n := r.TryTakeN(make([]int64, 6)); n != 6 {
		t.Fatalf("TryTakeN = %d, want 6", n)
	}
	want(3, "below half in one batch")
	r.TryPutN(seq(8))
	r.DropBelow(6)
	want(4, "below half by DropBelow")
}

// TestOnLowOnce: takes below the threshold ask for nothing. A ring that submits a padding task at each of them makes a
// queue of millions.
func TestOnLowOnce(t *testing.T) {
	t.Parallel()
	const size = 1 << 12
	var calls atomic.Int64
	r := newRing(t, size, &ringbuffer.Options{OnLow: func() { calls.Add(1) }})
	for range 10 {
		calls.Store(0)
		r.TryPutN(seq(size))
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for {
					if _, ok := r.TryTake(); !ok {
						return
					}
				}
			})
		}
		wg.Wait()
		if n := calls.Load(); n != 1 {
			t.Errorf("OnLow was called %d times while %d uids were taken, want once", n, size)
		}
	}
}

// TestOnLowLate: a taker stops between its claim and its look at the signal. When it goes on, the ring has been filled and
// that fall is over; it must not use up the signal of the next one.
func TestOnLowLate(t *testing.T) {
	t.Parallel()
	calls := 0
	r := newRing(t, 4, &ringbuffer.Options{PaddingFactor: 100, OnLow: func() { calls++ }})
	r.TryPutN(seq(4))
	late := r.Look()
	if !late.Claim(1) {
		t.Fatal("Claim = false, want true")
	}
	wantPut(t, r, 4)
	late.Took(1)
	if calls != 0 {
		t.Fatalf("OnLow was called %d times for a fall that is over, want 0", calls)
	}
	wantTake(t, r, 1)
	if calls != 1 {
		t.Fatalf("OnLow was called %d times after the next fall, want once", calls)
	}
	late.Took(1)
	wantTake(t, r, 2)
	if calls != 1 {
		t.Fatalf("OnLow was called %d times below the threshold, want once", calls)
	}
}

// TestOnLowRace: the uid of a put is taken, and the taker looks at the signal, before the put has stored it. The put must
// see to that fall itself.
func TestOnLowRace(t *testing.T) {
	t.Parallel()
	calls := 0
	r := newRing(t, 1, &ringbuffer.Options{OnLow: func() { calls++ }})
	wantPut(t, r, 1)
	put := r.Look()
	wantTake(t, r, 1)
	calls = 0
	if !put.Arm() {
		t.Error("Arm = false with the uid gone, want true")
	}
	if r.Announce(true); calls != 1 {
		t.Errorf("OnLow was called %d times for a fall that the put found, want once", calls)
	}
	if r.Announce(false); calls != 1 {
		t.Errorf("OnLow was called %d times after a put that found no fall, want once", calls)
	}
	wantPut(t, r, 2)
	put = r.Look()
	if put.Arm() {
		t.Error("Arm = true with the uid in the ring, want false")
	}
}

// TestOnLowIsEnough has a producer that nothing but OnLow wakes: a fall without a call would leave the ring empty for ever. It
// fills the ring until it is full, or only until it is not low.
func TestOnLowIsEnough(t *testing.T) {
	t.Parallel()
	for _, greedy := range []bool{true, false} {
		for _, factor := range []int{1, 50, 100} {
			for _, size := range []int{1, 2, 8, 64} {
				onLowIsEnough(t, greedy, factor, size, int64(10_000/scale))
			}
		}
	}
}

func onLowIsEnough(t *testing.T, greedy bool, factor, size int, total int64) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	low := make(chan struct{}, 1)
	r := newRing(t, size, &ringbuffer.Options{PaddingFactor: factor, OnLow: func() {
		select {
		case low <- struct{}{}:
		default:
		}
	}})
	var out atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		batch := seq(size)
		for {
			for greedy && r.TryPutN(batch) > 0 {
			}
			for !greedy && r.Low() {
				r.TryPutN(batch)
			}
			select {
			case <-low:
			case <-ctx.Done():
				return
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				if _, ok := r.TryTake(); !ok {
					runtime.Gosched()
				} else if out.Add(1) == total {
					cancel()
				}
			}
		})
	}
	wg.Wait()
	if got := out.Load(); got < total {
		t.Errorf("greedy %t, %d percent, size %d: the ring ran dry after %d uids, want %d", greedy, factor, size, got, total)
	}
}
