package uid

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// usedUp is a lane's next when the lane has no run. It is above every number.
const usedUp = 1 << 63

// laneHalf keeps a lane's two hot words apart: two cache lines, because processors fetch lines in
// pairs. laneSize is a power of two, so lanes are aligned on it and none shares a pair of lines
// with its neighbours.
const (
	laneHalf = 2 * max(64, unsafe.Sizeof(cpu.CacheLinePad{}))
	laneSize = 2 * laneHalf
)

// lane is where callers get their ids: one atomic add each. A lane counts in numbers, which are ids
// without their gene bits, and hands out one run of consecutive numbers after another.
//
//	               next                          end
//	────┬────────────▼────────────────────────────▼────────►  numbers
//	    │ handed out │ left to hand out           │
//	────┴────────────┴────────────────────────────┴────────
//
// next is the number that the lane hands out next, or usedUp and above. end is the number after the
// last one of the lane's run. A caller loads end, adds one to next, and owns the number that the
// add found if that is below the end it loaded. With a run of [512, 1024) and next at 1022, three
// callers find 1022, 1023 and 1024: two of them own a number, and the third one has to refill the
// lane.
//
//	            add: old value < end                   add: old value >= end
//	           ┌──────────────┐                       ┌──────────────┐
//	           ▼              │    the run's last     ▼              │
//	refill ► [ inside the run ]──────────────────► [ used up         ]
//	           ▲              │                       ▲              │
//	           │              └───────── drop: Swap ──┘              │
//	           └──────────────── refill: Store ──────────────────────┘
//
// Owners: every caller may add, or take several numbers by a compare-and-swap. Only the holder of
// mu may do more: drop the rest of a run, or begin a new run. A run begins only in a used-up lane,
// so that its stores overwrite nothing but failed adds.
//
// Why no number is handed out twice:
//
//  1. Runs rise: each run of a lane lies above the one before it, because positions only grow.
//  2. While a run is current, next is inside it, or at its end or above: callers only move it up,
//     and only the holder of mu replaces it.
//  3. begin stores usedUp, then the new end, then the new next. So a caller that loaded the end of
//     run k did so after run k-1 was gone from next. What its add found is a number of run k, or
//     lies at that end or above: used up, or a number of a later run. A value below that end is a
//     number of run k, and no other add found the same value.
//  4. Failed adds leave next at end or above, or at usedUp or above. Nothing reads a meaning into
//     them, and the next refill overwrites them. The used-up range holds 2^63 of them.
//  5. takeN swaps a value below an end. Once that end is stored, next has each value below it once,
//     because runs rise. So there is no ABA: if next has the value, the run with that end is
//     current.
//
// A caller that loaded the end of run k and adds after the refill finds a number of run k+1 and
// does not know it. That number is skipped. It takes a caller that is interrupted between two
// instructions while others use up the rest of a run.
type lane struct {
	next atomic.Uint64
	_    [laneHalf - 8]byte

	// Written once a run, so that the load of end hits the cache.
	end atomic.Uint64

	// Its holder waits for nothing but the ring's lock, and calls no user function.
	mu    sync.Mutex
	skip  uint64 // guarded by mu: numbers of its next run that the lane passes over
	seat  uint64 // guarded by mu: which seat's caller refilled the lane last; see seats
	score int    // guarded by mu: how often that seat has changed lately; see seats.note
	runs  int64  // guarded by mu: how many runs it took from the ring
	taken uint64 // guarded by mu: their numbers, less those that it passed over or dropped
	_     [laneHalf - 56]byte
}

// newLanes returns n used-up lanes: the first caller of each refills it. They lie in one slice, so
// the size of a lane is what keeps them apart.
func newLanes(n int) []lane {
	lanes := make([]lane, n)
	for i := range lanes {
		lanes[i].next.Store(usedUp)
	}
	return lanes
}

// take takes the next number for a caller that has loaded end. ok reports whether the number is
// inside the run that ends there; otherwise it has no meaning. Any goroutine may call take. It
// cannot fail to make progress and cannot be delayed: one add, and one comparison with a word of
// the caller's.
func (l *lane) take(end uint64) (n uint64, ok bool) {
	n = l.next.Add(1) - 1
	return n, n < end
}

// takeN takes up to n consecutive numbers and returns the first one and how many it took, 0 when
// the lane is used up. Any goroutine may call takeN. Unlike take it leaves a used-up lane as it is.
func (l *lane) takeN(n uint64) (first, got uint64) {
	for {
		end := l.end.Load()
		next := l.next.Load()
		if next >= end {
			return 0, 0
		}
		got = min(n, end-next)
		// A failure means that other callers got numbers, or that the run was dropped. Either is
		// progress, so the loop needs no bound.
		if l.next.CompareAndSwap(next, next+got) {
			return next, got
		}
	}
}

// isUsedUp reports whether the lane has no number left. While the caller holds mu, a used-up lane
// stays used up: callers only move next up, and no other goroutine begins a run.
func (l *lane) isUsedUp() bool { return l.next.Load() >= l.end.Load() }

// begin gives the lane the numbers [next, end). The caller holds mu and has found the lane used up.
// The order of the stores is what point 3 of lane rests on. If end came first, a caller could load
// it and find what failed adds had left in next: a number below the new end that is not the lane's.
func (l *lane) begin(next, end uint64) {
	l.next.Store(usedUp)
	l.end.Store(end)
	l.next.Store(next) // publishes the run
}

// drop takes the rest of the run away from the callers. The caller holds mu. The swap decides
// between drop and concurrent takes: a number below what it returns belongs to a caller, the others
// to drop. end stays, so a take that has loaded it finds usedUp, which lies above it.
func (l *lane) drop() {
	end := l.end.Load()
	l.taken -= end - min(end, l.next.Swap(usedUp)) // adds may have passed end
}

// issued returns how many runs the lane took, and how many of their numbers were handed out or
// skipped. Under mu only adds and takeN change the latter, and both make it grow. So what a later
// call returns is never less.
func (l *lane) issued() (runs int64, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.end.Load()
	return l.runs, l.taken - (end - min(end, l.next.Load()))
}
