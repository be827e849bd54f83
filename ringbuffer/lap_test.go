package ringbuffer_test

import (
	"fmt"
	"math"
	"testing"
)

// TestBoundaries starts just below each boundary that a position could stumble over, and crosses it
// with single steps and with batches, at every size up to 16.
func TestBoundaries(t *testing.T) {
	t.Parallel()
	for name, last := range map[string]int64{
		"the start": -1,
		"31 bits":   1<<31 - 3,
		"32 bits":   1<<32 - 3,
		"63 bits":   math.MaxInt64 - 2,
		"64 bits":   -3,
	} {
		for size := 1; size <= 16; size *= 2 {
			t.Run(fmt.Sprintf("%s/size %d", name, size), func(t *testing.T) {
				t.Parallel()
				r := newRing(t, size, nil)
				r.Start(last)
				wantEmpty(t, r)
				batch, dst := make([]int64, size), make([]int64, size+1)
				var put, took int64
				for range 3*size + 10 {
					wantPut(t, r, put)
					put++
					for k := range batch {
						batch[k] = put + int64(k)
					}
					n := r.TryPutN(batch)
					if n != size-1 {
						t.Fatalf("TryPutN of %d = %d with one uid in the ring, want %d", size, n, size-1)
					}
					put += int64(n)
					if r.TryPut(-1) || r.Len() != size {
						t.Fatalf("the ring takes a uid with Len %d of %d", r.Len(), size)
					}
					wantTake(t, r, took)
					took++
					n = r.TryTakeN(dst)
					if n != size-1 {
						t.Fatalf("TryTakeN = %d, want %d", n, size-1)
					}
					for _, uid := range dst[:n] {
						if uid != took {
							t.Fatalf("TryTakeN gave %d, want %d", uid, took)
						}
						took++
					}
					wantEmpty(t, r)
					if r.Tail() != last+put || r.Cursor() != last+took {
						t.Fatalf("Tail, Cursor = %d, %d, want both %d", r.Tail(), r.Cursor(), last+put)
					}
				}
			})
		}
	}
}

// TestOvertakenTaker stops a taker between any two of its steps while others take and refill, up to
// several laps, and checks that it claims nothing when it goes on, and that everyone else gets each
// uid once, in order.
func TestOvertakenTaker(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 8; size *= 2 {
		for laps := 1; laps <= 3; laps++ {
			for stop := range 3 {
				for _, batch := range []bool{false, true} {
					t.Run(fmt.Sprintf("size %d/%d laps/stop %d/batch %t", size, laps, stop, batch), func(t *testing.T) {
						t.Parallel()
						overtake(t, size, laps, stop, batch)
					})
				}
			}
		}
	}
}

func overtake(t *testing.T, size, laps, stop int, batch bool) {
	r := newRing(t, size, nil)
	for i := range size {
		wantPut(t, r, int64(i))
	}
	slow := r.Look() // the cursor is loaded

	others := func() {
		for i := range size * laps {
			wantTake(t, r, int64(i))
			wantPut(t, r, int64(i+size)) // the slot is refilled although the slow taker has not finished
		}
	}
	if stop == 0 {
		others()
	}
	var n, ahead int64 = 1, 0
	var uid int64
	if batch {
		n = slow.Full(int64(size))
	} else {
		uid, ahead = slow.Peek()
	}
	switch {
	case stop == 0 && batch && n != -1:
		t.Fatalf("Full after %d laps = %d, want -1: out of date", laps, n)
	case stop == 0 && !batch && ahead != int64(size*laps):
		t.Fatalf("Peek after %d laps: the flag is %d ahead, want %d", laps, ahead, size*laps)
	case stop > 0 && (ahead != 0 || uid != 0 || batch && n != int64(size)):
		t.Fatalf("Peek, Full of a taker that is not late = %d, %d, %d, want 0, 0, %d", uid, ahead, n, size)
	}
	if stop == 1 {
		others()
	}
	claimed := slow.Claim(max(n, 1))
	if want := stop == 2; claimed != want {
		t.Fatalf("Claim = %t, want %t", claimed, want)
	}
	if stop == 2 {
		return // nobody overtook it
	}
	for i := range size {
		wantTake(t, r, int64(size*laps+i))
	}
	wantEmpty(t, r)
}

// TestStalledTaker checks that a taker that never goes on blocks nobody: puts and takes go through
// its slot for many laps.
func TestStalledTaker(t *testing.T) {
	t.Parallel()
	r := newRing(t, 2, nil)
	wantPut(t, r, 0)
	stalled := r.Look()
	if _, ahead := stalled.Peek(); ahead != 0 {
		t.Fatalf("Peek: the flag is %d ahead, want 0", ahead)
	}
	for i := range int64(100) {
		wantPut(t, r, i+1)
		wantTake(t, r, i)
	}
	if stalled.Claim(1) {
		t.Error("Claim after 50 laps = true, want false")
	}
}

// TestTornLook makes a taker see the flag of one lap and the uid of the next, and checks that it
// keeps neither.
func TestTornLook(t *testing.T) {
	t.Parallel()
	r := newRing(t, 1, nil)
	wantPut(t, r, 7)
	late := r.Look()
	if n := late.Full(1); n != 1 { // the flag of position 0
		t.Fatalf("Full = %d, want 1", n)
	}
	wantTake(t, r, 7)
	wantPut(t, r, 8)
	if uid, _ := late.Peek(); uid != 8 { // the uid of position 1
		t.Fatalf("Peek = %d, want 8", uid)
	}
	if late.Claim(1) {
		t.Error("Claim of a torn look = true, want false")
	}
	wantTake(t, r, 8)
}

// TestDropLate checks that DropBelow claims with the same care: overtaken, it drops nothing, and
// neither does it take a leftover for the oldest uid and stop.
func TestDropLate(t *testing.T) {
	t.Parallel()
	r := newRing(t, 4, nil)
	r.TryPutN([]int64{1, 2, 3, 4})
	late := r.Look()
	wantTake(t, r, 1)
	if n, again := late.Drop(10); n != 0 || !again {
		t.Fatalf("Drop after a take = %d, %t, want 0, true", n, again)
	}
	wantPut(t, r, 20) // the slot of 1
	if n, again := late.Drop(10); n != 0 || !again {
		t.Fatalf("Drop after a lap = %d, %t, want 0, true", n, again)
	}
	if n, again := r.Look().Drop(4); n != 2 || !again {
		t.Fatalf("Drop(4) = %d, %t, want 2, true", n, again)
	}
	if n, again := r.Look().Drop(4); n != 0 || again {
		t.Fatalf("Drop(4) with 4 in front = %d, %t, want 0, false", n, again)
	}
	wantTake(t, r, 4)
	wantTake(t, r, 20)
	wantEmpty(t, r)
}

// TestLenLate checks Len when takes and puts happen between its two loads.
func TestLenLate(t *testing.T) {
	t.Parallel()
	r := newRing(t, 2, nil)
	late := r.Look()
	for i := range int64(5) {
		wantPut(t, r, i)
		wantTake(t, r, i)
	}
	if n := late.Len(); n != 2 {
		t.Errorf("Len two laps late = %d, want 2", n)
	}
	r.Look().Claim(1) // as if the tail of the put that filled this position were not stored yet
	if n := r.Len(); n != 0 {
		t.Errorf("Len with the cursor past the tail = %d, want 0", n)
	}
}

func TestDropBelow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		size  int
		uids  []int64
		limit int64
		want  int
	}{
		{"empty", 4, nil, math.MaxInt64, 0},
		{"nothing", 4, []int64{5, 6}, 5, 0},
		{"lowest limit", 4, []int64{math.MinInt64, 0}, math.MinInt64, 0},
		{"one", 4, []int64{5, 6}, 6, 1},
		{"all", 4, []int64{5, 6, 7, 8}, 9, 4},
		{"gaps", 4, []int64{5, 60, 700}, 61, 2},
		{"behind a greater one", 4, []int64{5, 9, 6, 7}, 8, 1},
		{"equal ones", 4, []int64{5, 5, 5, 6}, 6, 3},
		{"more than a chunk", 1024, seq(1000), 999, 999},
		{"a whole number of chunks", 1024, seq(256), math.MaxInt64, 256},
		{"size 1", 1, []int64{3}, 4, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRing(t, c.size, nil)
			r.Start(1<<32 - 3)
			r.TryPutN(c.uids)
			if n := r.DropBelow(c.limit); n != c.want {
				t.Fatalf("DropBelow(%d) = %d, want %d", c.limit, n, c.want)
			}
			for _, uid := range c.uids[c.want:] {
				wantTake(t, r, uid)
			}
			wantEmpty(t, r)
			for i := range c.size { // what was dropped makes room
				wantPut(t, r, int64(i))
			}
		})
	}
}

func seq(n int) []int64 {
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(i)
	}
	return s
}
