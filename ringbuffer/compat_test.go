package ringbuffer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/uidring/uidring/ringbuffer"
)

// The numbers are those of bitsalloc/compat/README.md.

// TestOriginalCounters: 8.O2. Both counters start at -1 and the first fill holds as many uids as
// there are slots. In the original every later one holds one fewer; here all hold as many.
func TestOriginalCounters(t *testing.T) {
	t.Parallel()
	const size = 8
	o, r := newOriginal(size), newRing(t, size, nil)
	if o.tail != -1 || o.cursor != -1 || r.Tail() != -1 || r.Cursor() != -1 {
		t.Errorf("the counters start at %d and %d, and in the original at %d and %d, want -1",
			r.Tail(), r.Cursor(), o.tail, o.cursor)
	}
	for lap, want := range []int{size, size - 1, size - 1} {
		original, ours := 0, 0
		for o.put(1) {
			original++
		}
		for r.TryPut(1) {
			ours++
		}
		if original != want || ours != size {
			t.Errorf("fill %d holds %d, and %d in the original, want %d and %d", lap, ours, original, size, want)
		}
		for range original {
			if _, err := o.take(); err != nil {
				t.Fatalf("original: %v", err)
			}
		}
		for range ours {
			wantTake(t, r, 1)
		}
		wantEmpty(t, r)
	}
}

// TestTakePolicyThatReturns: 8.F3. A take policy of the original that returns instead of throwing,
// having filled the ring, changes nothing: the take goes on with the slot it had computed before,
// and fails. Here the take looks again.
func TestTakePolicyThatReturns(t *testing.T) {
	t.Parallel()
	o := newOriginal(8)
	k := o.load()
	if k.advance() {
		t.Fatal("original: an empty ring has a uid")
	}
	o.put(42) // the policy
	if uid, err := k.read(); !errors.Is(err, errNotFull) {
		t.Fatalf("original: take = %d, %v, and the model is to show %v", uid, err, errNotFull)
	}

	r := newRing(t, 8, &ringbuffer.Options{TakeFunc: func(_ context.Context, r *ringbuffer.Ring) error {
		r.TryPut(42)
		return nil
	}})
	if uid, err := r.Take(t.Context()); uid != 42 || err != nil {
		t.Errorf("Take() = %d, %v, want 42", uid, err)
	}
}
