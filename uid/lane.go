package uid

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/ringbuffer"
)

// usedUp is what next of a lane without a run has, or more. It is above every number.
const usedUp = 1 << 63

// laneHalf keeps a lane's two hot words apart: two cache lines, because processors fetch lines in
// pairs. laneSize and the number of lanes are powers of two, and Go aligns a slice of such a size
// on laneSize, so no lane shares a pair of lines with its neighbours.
const (
	laneHalf = 2 * max(64, unsafe.Sizeof(cpu.CacheLinePad{}))
	laneSize = 2 * laneHalf
)

// lane is where callers get their ids: one atomic add each. A lane counts in numbers, which are ids
// without their gene bits, the lowest ones. It hands out one run of consecutive numbers after
// another, each taken from the composer's ring. The package comment's glossary has the words.
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
// so its stores overwrite nothing but failed adds.
//
// Why no number is handed out twice:
//
//  1. Runs rise: each run of a lane lies above the one before it, because the composer's position
//     only grows.
//  2. While a run is current, next is not below it: callers only add to next, and only the holder
//     of mu stores to it.
//  3. begin stores usedUp, then the new end, then the new next. Go's atomics have one order for all
//     goroutines, so a caller that loaded the end of run k cannot find what run k-1 left in next.
//     Its add finds a number of run k, or a value at that end or above: used up, or a number of a
//     later run. Within a run next only grows, so no two adds find the same number.
//  4. Failed adds leave next at end or above, or at usedUp or above. Nothing reads a meaning into
//     the excess, and the next refill overwrites it. The used-up range holds 2^63 of them.
//  5. takeN swaps a value below an end. Once that end is stored, next leaves each value below it
//     for good, because runs rise. So there is no ABA: if next has the value, the run with that end
//     is current.
//
// A caller that loaded the end of run k and adds after the refill finds a number of run k+1, takes
// it for a failure, and the number is lost. That happens only to a caller that is interrupted
// between load and add while others use up the rest of a run.
type lane struct {
	next atomic.Uint64
	_    [laneHalf - 8]byte

	// Written once a run, so that the load of end hits the cache.
	end atomic.Uint64

	// Held while the ring's lock is taken, never while a function of the user's runs.
	mu    sync.Mutex
	skip  uint64 // guarded by mu: numbers that it passes over where its next run begins
	runs  int64  // guarded by mu: how many runs it took from the ring
	taken uint64 // guarded by mu: their numbers, minus those that it passed over or dropped
	index int    // read-only: its place among the lanes
	_     [laneHalf - 48]byte
}

// newLanes returns n used-up lanes: the first caller of each refills it. They lie in one slice, so
// the size of a lane is what keeps them apart.
func newLanes(n int) []lane {
	lanes := make([]lane, n)
	for i := range lanes {
		lanes[i].next.Store(usedUp)
		lanes[i].index = i
	}
	return lanes
}

// take takes the next number for a caller that has loaded end. ok reports whether the number is
// inside the run that ends there; otherwise n has no meaning. Any goroutine may call take. It is
// wait-free: one add, and one comparison with a word of the caller's.
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
		// A failure means that others have moved next. That is progress, so the loop is lock-free
		// and needs no bound.
		if l.next.CompareAndSwap(next, next+got) {
			return next, got
		}
	}
}

// isUsedUp reports whether the lane has no number left. While the caller holds mu, a used-up lane
// stays used up: callers only move next up, and no other goroutine begins a run. Without mu it is a
// hint.
func (l *lane) isUsedUp() bool { return l.next.Load() >= l.end.Load() }

// refill takes up to len(heads) runs of runLen numbers from the ring for a used-up lane, and
// returns how many, with their first numbers in heads. The caller gets the first n numbers of them
// and the lane the rest of the last run. The first skip numbers of the first run are not used: so
// setSkip has said. No runs mean that the ring is empty, or if empty is false that another caller
// has refilled the lane.
//
//	heads[0]     heads[1]                  end
//	───┬────┬───────┬─────────────┬─────────┬───►  numbers
//	   │skip│    n: the caller's  │ the lane's
//	───┴────┴───────┴─────────────┴─────────┴───
//
// Runs in the ring need not follow one another, and each is above all runs that the lane has had.
// The rest lies in the last run alone, because heads has no more elements than n numbers need; so
// the lane holds consecutive numbers. The caller's own numbers never enter the lane, so no other
// caller can take them.
func (l *lane) refill(ring *ringbuffer.Ring, runLen uint64, heads []int64,
	n uint64) (runs int, skip uint64, empty bool) {
	// Without the lock two callers could both find the lane used up and take a run each. The second
	// one to begin would overwrite the run of the first one, or put a lower run after a higher one.
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.isUsedUp() {
		return 0, 0, false
	}
	if runs = ring.TryTakeN(heads); runs == 0 {
		return 0, 0, true
	}
	skip, l.skip = l.skip, 0
	numbers := runLen*uint64(runs) - skip
	l.runs += int64(runs)
	l.taken += numbers
	end := uint64(heads[runs-1]) + runLen
	// Without a rest the lane stays used up, at the end of an older run.
	if numbers > n {
		l.begin(end-(numbers-n), end)
	}
	return runs, skip, false
}

// begin gives the lane the numbers [next, end). The caller holds mu, has found the lane used up,
// and adds the numbers to taken before it unlocks mu.
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

// expire drops the rest of the run if that ends at limit or below. A run lies inside a tick, so if
// limit is a tick's first position, the run is of an earlier tick.
func (l *lane) expire(limit uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end.Load() <= limit {
		l.drop()
	}
}

// setSkip has the lane pass over the first n numbers of its next run, fewer than a run has.
func (l *lane) setSkip(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.skip = n
}

// issued returns how many runs the lane took, and how many of their numbers were handed out or
// lost. Adds and takeN make the latter grow. A drop and a refill change taken by as much as what is
// left of the run, so what a later call returns is never less.
func (l *lane) issued() (runs int64, n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := l.end.Load()
	return l.runs, l.taken - (end - min(end, l.next.Load()))
}
