package uid

import (
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/uidring/uidring/ringbuffer"
)

// TestLaneSize checks that the hot words of neighbouring lanes are two cache lines apart, and that
// 64-bit words are aligned on every platform.
func TestLaneSize(t *testing.T) {
	t.Parallel()
	lanes := newLanes(3)
	for i := range lanes {
		if off := uintptr(unsafe.Pointer(&lanes[i].next)); off%8 != 0 {
			t.Errorf("lane %d: next is at %#x, want a multiple of 8", i, off)
		}
	}
	if got := unsafe.Sizeof(lane{}); got != laneSize {
		t.Errorf("a lane has %d bytes, want %d", got, laneSize)
	}
	if got := unsafe.Offsetof(lane{}.end); got != laneHalf {
		t.Errorf("end is at %d, want %d", got, laneHalf)
	}
}

// TestLaneRefill: a used-up lane takes runs from the ring and keeps what the caller does not get. One that
// has numbers takes none, and only an empty ring is called one.
func TestLaneRefill(t *testing.T) {
	t.Parallel()
	ring, err := ringbuffer.New(4, nil)
	if err != nil {
		t.Fatal(err)
	}
	ring.TryPutN([]int64{100, 200, 300})
	l := &newLanes(1)[0]
	l.skip = 3
	heads := make([]int64, 2)
	for i, want := range []struct {
		n          uint64 // numbers that the caller wants
		runs       int
		skip       uint64
		empty      bool
		next, left uint64 // the lane's afterwards; next has no meaning without any left
	}{
		{15, 2, 3, false, 208, 2}, // 17 numbers
		{15, 0, 0, false, 208, 2}, // another caller has refilled it
		{10, 1, 0, false, 0, 0},   // the caller gets all
		{10, 0, 0, true, 0, 0},
	} {
		if i == 2 {
			l.takeN(2)
		}
		runs, skip, empty := l.refill(ring, 10, heads, want.n)
		if runs != want.runs || skip != want.skip || empty != want.empty {
			t.Errorf("turn %d: refill = %d, %d, %v, want %+v", i, runs, skip, empty, want)
		}
		next, left := l.next.Load(), l.end.Load()-l.next.Load()
		if l.isUsedUp() {
			next, left = 0, 0
		}
		if next != want.next || left != want.left {
			t.Errorf("turn %d: the lane has %d numbers from %d on, want %+v", i, left, next, want)
		}
	}
	if runs, n := l.issued(); runs != 3 || n != 27 {
		t.Errorf("the lane took %d runs and handed out %d numbers, want 3 and 27", runs, n)
	}
}

// TestLaneWords takes a lane through its states and looks at what a caller gets that loaded an
// older end.
func TestLaneWords(t *testing.T) {
	t.Parallel()
	l := &newLanes(1)[0]
	if _, ok := l.take(l.end.Load()); ok || !l.isUsedUp() {
		t.Fatal("a new lane has a number")
	}
	l.begin(100, 103)
	end := l.end.Load()
	for want := uint64(100); want < 103; want++ {
		if n, ok := l.take(end); n != want || !ok {
			t.Fatalf("take() = %d, %v, want %d", n, ok, want)
		}
	}
	for range 5 {
		if n, ok := l.take(end); ok {
			t.Fatalf("take() = %d of a used-up lane", n)
		}
	}
	if n, got := l.takeN(2); got != 0 || !l.isUsedUp() {
		t.Fatalf("claim() = %d, %d of a used-up lane", n, got)
	}
	// The next run begins right at the end of the one before. A caller that loaded the old end gets
	// nothing, and one number is skipped.
	l.begin(103, 110)
	if n, ok := l.take(end); ok {
		t.Fatalf("a late caller got %d", n)
	}
	if n, ok := l.take(l.end.Load()); n != 104 || !ok {
		t.Fatalf("take() = %d, %v, want 104: 103 is skipped", n, ok)
	}
	if n, got := l.takeN(3); n != 105 || got != 3 {
		t.Fatalf("claim(3) = %d, %d, want 105, 3", n, got)
	}
	if n, got := l.takeN(3); n != 108 || got != 2 {
		t.Fatalf("claim(3) = %d, %d, want 108, 2: all that is left", n, got)
	}
	l.begin(200, 300)
	l.take(300)
	l.drop()
	if n, ok := l.take(300); ok || !l.isUsedUp() {
		t.Fatalf("a lane whose rest was dropped gave %d", n)
	}
	// The highest numbers of all: the end is the used-up mark itself.
	l.begin(usedUp-2, usedUp)
	for want := uint64(usedUp - 2); want < usedUp; want++ {
		if n, ok := l.take(l.end.Load()); n != want || !ok {
			t.Fatalf("take() = %d, %v, want %d", n, ok, want)
		}
	}
	if _, ok := l.take(l.end.Load()); ok || !l.isUsedUp() {
		t.Fatal("a number above all numbers was handed out")
	}
}

// TestLaneOnce has callers take and claim from a lane that is given one tiny run after the other,
// and now and then loses the rest of one. Every number is handed out once at the most, and with few
// exceptions none is lost.
func TestLaneOnce(t *testing.T) {
	t.Parallel()
	runs := 200_000
	if testing.Short() {
		runs /= 8
	}
	for _, length := range []uint64{1, 2, 7} {
		l := &newLanes(1)[0]
		seen := make([]atomic.Uint32, uint64(runs)*length+1)
		var taken, dropped atomic.Int64
		note := func(first, n uint64) {
			for i := first; i < first+n; i++ {
				if seen[i].Add(1) != 1 {
					t.Errorf("runs of %d: %d was handed out twice", length, i)
				}
			}
			taken.Add(int64(n))
		}
		head := uint64(0) // guarded by l.mu
		refill := func() (more bool) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if !l.isUsedUp() {
				return true
			}
			if head == uint64(runs)*length {
				return false
			}
			first := head
			head += length
			note(first, 1)
			if length > 1 {
				l.begin(first+1, head)
			}
			return true
		}
		var wg sync.WaitGroup
		for k := range 3 {
			wg.Go(func() {
				for i := 0; ; i++ {
					if k == 0 && i%3 == 0 {
						if n, got := l.takeN(2); got > 0 {
							note(n, got)
							continue
						}
					} else if n, ok := l.take(l.end.Load()); ok {
						note(n, 1)
						continue
					}
					if k == 1 && i%64 == 0 {
						l.mu.Lock()
						if rest := int64(l.end.Load() - min(l.end.Load(), l.next.Load())); rest > 0 {
							dropped.Add(rest) // at the most: others take of it until it is dropped
							l.drop()
						}
						l.mu.Unlock()
					}
					if !refill() {
						return
					}
				}
			})
		}
		wg.Wait()
		all := int64(runs) * int64(length)
		skipped := all - taken.Load() - dropped.Load()
		t.Logf("runs of %d: %d numbers, %d dropped, %d skipped", length, all, dropped.Load(), skipped)
		if skipped > all/1000 {
			t.Errorf("runs of %d: %d of %d numbers were skipped, want few", length, skipped, all)
		}
	}
}
