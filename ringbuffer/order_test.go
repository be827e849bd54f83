package ringbuffer_test

import (
	"sync"
	"testing"
)

// TestBatchFlagsFirstLast watches a batch of a whole ring while it is put: once the flag of its
// first uid is there, which lets takers in, those of the others are.
func TestBatchFlagsFirstLast(t *testing.T) {
	t.Parallel()
	const size = 1 << 14
	r := newRing(t, size, nil)
	batch := seq(size)
	for range 200 / scale {
		first, last := r.LookAt(r.Tail()), r.LookAt(r.Tail()+size-1)
		var put sync.WaitGroup
		put.Go(func() { r.TryPutN(batch) })
		spun := spin(func() bool { _, ahead := first.Peek(); return ahead == 0 })
		if _, ahead := last.Peek(); spun && ahead != 0 {
			t.Error("a taker can have the first uid of a batch, and the last one is not there")
		}
		put.Wait()
		if n := r.DropBelow(size); n != size {
			t.Fatalf("%d uids were put, want %d", n, size)
		}
		if t.Failed() {
			return
		}
	}
}

// spin reports whether cond came true within a while.
func spin(cond func() bool) bool {
	for range 100_000_000 / scale {
		if cond() {
			return true
		}
	}
	return false
}
