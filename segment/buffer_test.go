package segment_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/uidring/uidring/segment"
)

// TestBufferShape: runs are long enough to be cheap, short enough that lanes hold a sixteenth of a range at most, and a short
// range has one lane.
func TestBufferShape(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n     int64
		wide  bool
		lanes int
		run   int64
	}{
		{1, false, 1, 1}, {15, false, 1, 1}, {32, false, 1, 2}, {1000, false, 1, 62}, {1 << 31, false, 1, 512},
		{1, true, 1, 1}, {8191, true, 1, 511}, {8192, true, 64, 8}, {1_000_000, true, 64, 512}, {1 << 31, true, 64, 512},
	} {
		b := segment.NewBuffer(segment.Range{From: 7, To: 7 + tt.n}, 10, tt.wide)
		if lanes, run := b.Shape(); lanes != tt.lanes || run != tt.run {
			t.Errorf("%d ids, wide %v: %d lanes and runs of %d, want %d and %d", tt.n, tt.wide, lanes, run, tt.lanes, tt.run)
		}
	}
	if size := unsafe.Sizeof(segment.Lane{}); size != 128 {
		t.Errorf("a lane has %d bytes, want two cache lines, 128", size)
	}
}

// TestBufferMark: exactly one claim is told to have the next range fetched, the one with the mark-th id, one by one and in
// stretches, whatever the length of the runs.
func TestBufferMark(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{1, 2, 3, 10, 16, 50} {
		for mark := int64(1); mark <= n; mark++ {
			for run := int64(1); run <= min(n, 9); run++ {
				for stretch := int64(1); stretch <= min(n, 11); stretch++ {
					b := segment.Cut(segment.Range{From: 100, To: 100 + n}, mark, false, run)
					told := int64(0)
					for got := int64(0); got < n; {
						ids := make([]int64, stretch)
						k, due := b.Fill(0, ids)
						for i, id := range ids[:k] {
							if id != 100+got+int64(i) {
								t.Fatalf("id %d is %d", got+int64(i), id)
							}
						}
						if due {
							told++
							if mark <= got || mark > got+int64(k) {
								t.Fatalf("%d ids in runs of %d by %d: told at ids %d to %d, want it with the %d-th", n, run, stretch, got+1, got+int64(k), mark)
							}
						}
						got += int64(k)
						if b.Used() != got {
							t.Fatalf("%d ids are used, want %d", b.Used(), got)
						}
					}
					if told != 1 {
						t.Fatalf("%d ids in runs of %d by %d with mark %d: told %d times, want once", n, run, stretch, mark, told)
					}
				}
			}
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
		for _, wide := range []bool{false, true} {
			stride, n := max(r.Stride, 1), r.Len()
			b := segment.NewBuffer(r, 99, wide)
			if id, ok, _ := b.Next(0); !ok || id != r.From {
				t.Errorf("%v: the first id is %d, %v, want %d", r, id, ok, r.From)
			}
			b.Skip(n - 10) // the ids in between would take too long
			var last int64
			for {
				id, ok, _ := b.Next(0)
				if !ok {
					break
				}
				last = id
			}
			if want := r.From + (n-1)*stride; n > 10 && last != want {
				t.Errorf("%v: the last id is %d, want %d", r, last, want)
			}
			if b.Used() != n {
				t.Errorf("%v: %d ids are used, want %d", r, b.Used(), n)
			}
		}
	}
}

// TestBufferConcurrent: at sizes where lanes run out all the time, several goroutines that take ids one by one and in
// stretches from lanes of their own and each other's get each id once and none is lost, because a caller takes what is
// left in other lanes before it gives up.
func TestBufferConcurrent(t *testing.T) {
	t.Parallel()
	for _, wide := range []bool{false, true} {
		for _, run := range []int64{1, 2, 3, 8} {
			t.Run(fmt.Sprint("wide ", wide, " run ", run), func(t *testing.T) {
				t.Parallel()
				for round := range 300 {
					const n = 97
					b := segment.Cut(segment.Range{From: 3, To: 3 + n*7, Stride: 7}, 10, wide, run)
					all, dues := drain(b, 4, round, nil)
					checkAll(t, all, n, 7)
					if dues != 1 || b.Used() != n {
						t.Fatalf("told %d times, %d ids used, want 1 and %d", dues, b.Used(), n)
					}
				}
			})
		}
	}
}

// TestBufferRests: a caller gets what is left in all lanes before the range is used up.
func TestBufferRests(t *testing.T) {
	t.Parallel()
	const n = 64 * 8
	b := segment.Cut(segment.Range{From: 3, To: 3 + n}, 10, true, 8)
	var all []int64
	for i := range 64 {
		if id, ok, _ := b.Next(i); ok {
			all = append(all, id)
		}
	}
	for b.Used() < n {
		id, ok, _ := b.Next(5)
		if !ok {
			t.Fatalf("no id with %d of %d used", b.Used(), n)
		}
		all = append(all, id)
	}
	checkAll(t, all, n, 1)
}

// TestBufferSeal: whatever was handed out before the end is no part of the rest, and nothing is handed out after it.
func TestBufferSeal(t *testing.T) {
	t.Parallel()
	const n = 3000
	for round := range 600 {
		b := segment.Cut(segment.Range{From: 3, To: 3 + n*7, Stride: 7}, 40, round%2 == 0, int64(1+round%5))
		var (
			rest segment.Range
			ok   bool
		)
		all, _ := drain(b, 3, round, func() { rest, ok = b.Seal() })
		if _, got, _ := b.Next(0); got || b.Used() != n {
			t.Fatal("an id after the end")
		}
		distinct(t, all)
		if !ok {
			t.Fatalf("no rest after %d of %d ids", len(all), n)
		}
		if rest.To != 3+n*7 || rest.Stride != 7 || (rest.From-3)%7 != 0 {
			t.Fatalf("the rest is %v", rest)
		}
		for _, id := range all {
			if id >= rest.From {
				t.Fatalf("id %d was handed out, and is in the rest, %v", id, rest)
			}
		}
		if round%2 == 1 && int64(len(all))+rest.Len() != n {
			t.Fatalf("with one lane %d ids were handed out and %d are the rest, want %d together", len(all), rest.Len(), n)
		}
	}
}

// TestBufferRefilled: callers who find that another one has refilled the lane take from it at once, whichever of them was
// faster, and nobody is told to fetch before the mark.
func TestBufferRefilled(t *testing.T) {
	t.Parallel()
	for _, wide := range []bool{false, true} {
		for range 20 {
			const callers = 6
			b := segment.Cut(segment.Range{From: 3, To: 103}, 50, wide, 10)
			release := b.Hold()
			var (
				ids  [callers]int64
				oks  [callers]bool
				dues [callers]bool
				wg   sync.WaitGroup
			)
			for i := range callers {
				wg.Go(func() { ids[i], oks[i], dues[i] = b.Next(0) })
			}
			for b.Failed() < callers {
				runtime.Gosched()
			}
			release()
			wg.Wait()
			if slices.Contains(oks[:], false) || slices.Contains(dues[:], true) {
				t.Fatalf("wide %v: callers of a run have ids: %v, and are told to fetch: %v", wide, oks, dues)
			}
			checkAll(t, ids[:], callers, 1)
		}
	}
}

// TestWide: a range whose callers met a quarter of the times is followed by one with many lanes, unless the tag is Ordered;
// and that one, if a single caller uses it, by one with one lane.
func TestWide(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		meets   int
		ordered bool
		want    bool
	}{{0, false, false}, {4, false, false}, {5, false, true}, {5, true, false}} {
		const step = 8192 // 17 runs
		g := generator(t, newFake(step), &segment.Options{MaxStep: 1, Ordered: tt.ordered})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		awaitQuiet(t, g)
		for range tt.meets {
			next(t, g, "a", int(tag.InRun())+1)
			tag.Meet()
		}
		next(t, g, "a", step-int(stats(t, g, "a").Used)+1)
		if tag.Wide() != tt.want {
			t.Errorf("callers met at %d of 17 runs, ordered %v: many lanes %v, want %v", tt.meets, tt.ordered, !tt.want, tt.want)
		}
		next(t, g, "a", step)
		if tag.Wide() {
			t.Error("there are many lanes after a range that one caller used")
		}
	}
}

// drain takes ids with several goroutines until they are used up; the first of them calls end, if it is not nil, on the way. It
// returns the ids and how many claims were told to fetch.
func drain(b *segment.Buffer, goroutines, seed int, end func()) (all []int64, dues int) {
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		ended atomic.Bool
	)
	lanes, _ := b.Shape()
	for g := range goroutines {
		wg.Go(func() {
			var ids []int64
			told := 0
			for i := 0; ; i++ {
				if end != nil && g == 0 && i == seed%50 {
					end()
					ended.Store(true)
				}
				for end != nil && g > 0 && i > 100 && !ended.Load() {
					runtime.Gosched() // so that the end comes before the ids do
				}
				buf := make([]int64, 1+(seed+i)%3)
				lane := (seed*31 + g + i/5*g) % lanes
				var n int
				var due bool
				if len(buf) == 1 {
					var ok bool
					if buf[0], ok, due = b.Next(lane); ok {
						n = 1
					}
				} else {
					n, due = b.Fill(lane, buf)
				}
				if due {
					told++
				}
				ids = append(ids, buf[:n]...)
				if n == 0 && b.Exhausted() {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all, dues = append(all, ids...), dues+told
		})
	}
	wg.Wait()
	return all, dues
}

// checkAll fails the test unless ids are 3, 3+stride and so on, n of them.
func checkAll(t *testing.T, ids []int64, n int, stride int64) {
	t.Helper()
	slices.Sort(ids)
	if len(ids) != n {
		t.Fatalf("%d ids, want %d", len(ids), n)
	}
	for i, id := range ids {
		if id != 3+int64(i)*stride {
			t.Fatalf("id %d is %d, want %d", i, id, 3+int64(i)*stride)
		}
	}
}
