package segment_test

import (
	"math"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// TestBufferMark: the mark is rounded up to a whole id, and is at least the first one.
func TestBufferMark(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n       int64
		percent int
		want    int64 // the number of the id, counted from 1, at which the next fetch starts
	}{
		{1, 1, 1}, {1, 99, 1}, {15, 10, 2}, {20, 10, 2}, {21, 10, 3}, {99, 1, 1}, {101, 1, 2}, {101, 99, 100},
		{1050, 50, 525}, {1 << 31, 99, 2126008812},
	} {
		b := segment.NewBuffer(segment.Range{From: 0, To: tt.n}, tt.percent)
		if got := b.Mark() + 1; got != tt.want {
			t.Errorf("%d ids, %d percent: the mark is id %d, want %d", tt.n, tt.percent, got, tt.want)
		}
	}
}

// TestBufferLimits: the longest range, the largest stride and the largest ids.
func TestBufferLimits(t *testing.T) {
	t.Parallel()
	for _, r := range []segment.Range{
		{From: 0, To: 1 << 31},
		{From: math.MaxInt64 - 1<<31, To: math.MaxInt64},
		{From: math.MaxInt64 - 1<<31, To: math.MaxInt64, Stride: 65535},
		{From: 1, To: 1 + 1<<31, Stride: 3},
		{From: math.MaxInt64 - 1, To: math.MaxInt64},
	} {
		stride, n := max(r.Stride, 1), r.Len()
		b := segment.NewBuffer(r, 99)
		if p, ok := b.Next(); !ok || b.ID(p) != r.From {
			t.Errorf("%v: the first id is %d, %v, want %d", r, b.ID(p), ok, r.From)
		}
		if n > 10 { // taking each id would take too long
			b.Hold()
			b.Release(n - 10)
		}
		last := r.From
		for p, ok := b.Next(); ok; p, ok = b.Next() {
			last = b.ID(p)
		}
		if want := r.From + (n-1)*stride; last != want || b.Free() != 0 {
			t.Errorf("%v: the last id is %d and %d are free, want %d and none", r, last, b.Free(), want)
		}
		for range 100 {
			if p, got := b.Take(math.MaxInt64); got != 0 {
				t.Errorf("%v: Take of a range that is used up = %d, %d", r, p, got)
			}
		}
	}
}

// TestBufferConcurrent: each id is handed out once and none is lost. Two goroutines take ids one by
// one and several at a time, while a third one repeatedly holds the buffer, takes some ids and
// releases it.
func TestBufferConcurrent(t *testing.T) {
	t.Parallel()
	const n, takers = 400_000 / scale, 2
	for round := range 5 {
		b := segment.NewBuffer(segment.Range{From: 3, To: 3 + n*7, Stride: 7}, 10)
		var (
			seen [n]atomic.Int32 // how often each position was handed out
			fs   []func()
			over atomic.Bool
		)
		take := func(p, n int64) {
			for ; n > 0; n-- {
				seen[p].Add(1)
				p++
			}
		}
		for i := range takers {
			fs = append(fs, func() {
				for k := 0; b.Free() > 0 || !over.Load(); k++ {
					if k%4 == i {
						take(b.Take(int64(1 + k%5)))
					} else if p, ok := b.Next(); ok {
						take(p, 1)
					}
				}
			})
		}
		fs = append(fs, func() {
			defer over.Store(true)
			for p := int64(0); p < n; {
				for next := min(n, p+int64(round*5)); p < next; { // let the takers get some
					p = n - b.Free()
				}
				p = b.Hold()
				own := min(int64(round%2), n-p)
				take(p, own)
				p += own
				b.Release(p)
			}
		})
		segtest.Together(fs...)
		for p := range seen {
			if got := seen[p].Load(); got != 1 {
				t.Fatalf("round %d: the id at position %d was handed out %d times", round, p, got)
			}
		}
	}
}

// TestBufferHeld: no take that begins after a hold gets an id, and only the first of two holds
// returns what is left.
func TestBufferHeld(t *testing.T) {
	t.Parallel()
	for round := range 2000 / scale {
		const n = 200
		b := segment.NewBuffer(segment.Range{From: 3, To: 3 + n}, 1)
		var (
			held atomic.Bool
			got  [2][]int64
			left int64
		)
		take := func(i int) func() {
			return func() {
				for range 2 * n {
					begun := held.Load()
					p, ok := b.Next()
					if ok && begun {
						t.Errorf("round %d: id %d after the hold", round, p)
						return
					}
					if ok {
						got[i] = append(got[i], p)
					}
				}
			}
		}
		segtest.Together(take(0), take(1), func() {
			left = n - b.Hold()
			held.Store(true)
			if again := b.Hold(); again != n {
				t.Errorf("round %d: the second hold returned %d, want %d", round, again, n)
			}
		})
		if all := int64(len(got[0]) + len(got[1])); all+left != n {
			t.Errorf("round %d: %d ids were handed out and %d are left, want %d together", round, all, left, n)
		}
	}
}

// TestBufferLines: next, which every call writes, shares no cache line with the fields that every
// call only reads.
func TestBufferLines(t *testing.T) {
	t.Parallel()
	const line = 64
	typ := reflect.TypeFor[segment.Buffer]()
	r, _ := typ.FieldByName("r")
	next, ok := typ.FieldByName("next")
	if read := r.Offset + r.Type.Size(); !ok || next.Offset-read < line || typ.Size()-next.Offset < line {
		t.Errorf("read up to %d, next at %d of %d bytes: want %d or more between each",
			read, next.Offset, typ.Size(), line)
	}
}
