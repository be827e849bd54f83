// Package lanes has the word that goroutines take positions from: the heart of uid.Cached and of segment.
package lanes

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// Lane is one word, and one atomic add for each position that is taken from it. Whoever embeds it pads it to cache lines of
// its own.
//
//	63                                                                 0
//	+------------------------------+-----------------------+-----------+
//	|   run: the owner's fields    |  headroom, 0: valid   |  offset   |
//	+------------------------------+-----------------------+-----------+
//
// The word stands for the newest position handed out: which run of consecutive positions it is in, and which one of that run. A
// caller adds one; the sum is his. If it has no bit in the headroom, it stands for a position inside the run, and the position is
// his alone, as no other add returns the same sum. If it has, the run was used up before him.
//
//	            add: headroom 0                      add: headroom not 0
//	           ┌──────────────┐                       ┌──────────────┐
//	           ▼              │      the run's last   ▼              │
//	refill ► [ inside a run   ]──────────────────► [ used up         ]
//	           ▲              │                       ▲              │
//	           │              └─── Empty ─────────────┘              │
//	           └──────────────── refill: Store ──────────────────────┘
//
// Owners: anyone may add at any time, and anyone may take the rest of a run away with Empty, for what a swap returns is the
// swapper's alone. Only the holder of Mu may begin a run: a Store, and only after Idle, so that it overwrites nothing but
// failed adds. The Store publishes the run; its positions were claimed elsewhere before, which is what makes them the lane's.
//
// No ABA: only Take compares, and only with a word inside a run. Such a word enters a lane at most once, because no position
// is handed out twice.
//
// Overflow: a failed add leaves its trace in the headroom, which must not spill into the run. Whoever added in vain
// takes Mu and calls Idle before anything else, so the headroom counts at most the goroutines that are between their add and
// that. It has room for 2^31 - 1 of them at the least, 4 TiB of stacks.
type Lane struct {
	Word atomic.Uint64

	// Used once a run.
	Mu     sync.Mutex // nothing is waited for while it is held
	Sealed bool       // guarded by Mu: the lane gets no further run
}

// MinCounter is the least width of offset and headroom together: see overflow above.
const MinCounter = 32

// Counter is the lower part of a lane's word. It is read-only.
type Counter struct {
	Headroom uint64 // mask of the headroom
	Offset   uint64 // mask of the offset
}

// NewCounter returns the counter of width bits, MinCounter or more, for runs of 1<<runBits positions, runBits below width.
func NewCounter(width, runBits int) Counter {
	offset := uint64(1)<<runBits - 1
	return Counter{Headroom: (1<<width - 1) &^ offset, Offset: offset}
}

// UsedUp is a word without a run: whatever is added to it, the headroom is not 0.
func (c *Counter) UsedUp() uint64 { return c.Offset + 1 }

// Inside reports whether w stands for a position.
func (c *Counter) Inside(w uint64) bool { return w&c.Headroom == 0 }

// Left returns how many positions a lane whose word is w has still to hand out.
func (c *Counter) Left(w uint64) int64 {
	if w&c.Headroom != 0 {
		return 0
	}
	return int64(c.Offset - w&c.Offset)
}

// Take claims up to n consecutive positions at once and returns the word of the first of them and their number, 0 when the
// lane is used up. It adds nothing in vain, unlike an add: n failed adds of many would use the headroom up.
func (l *Lane) Take(c *Counter, n int64) (first uint64, got int64) {
	for {
		w := l.Word.Load()
		if got = min(n, c.Left(w)); got == 0 {
			return 0, 0
		}
		// A failure means that others took positions: they make progress.
		if l.Word.CompareAndSwap(w, w+uint64(got)) {
			return w + 1, got
		}
	}
}

// Empty takes the rest of the run away, which is the caller's. It returns the word of the newest position handed out before, or a
// used-up one.
func (l *Lane) Empty(c *Counter) uint64 { return l.Word.Swap(c.UsedUp()) }

// Idle prepares a used-up lane for a new run and reports whether it is one: the headroom is cleared. The caller holds Mu.
func (l *Lane) Idle(c *Counter) bool {
	// Adds that come between the two lines fail as well: nothing but the holder of Mu brings a lane back into a run.
	if c.Left(l.Word.Load()) > 0 {
		return false
	}
	l.Word.Store(c.UsedUp())
	return true
}

// Pick returns the caller's lane of n, a power of two, by a hash of where its stack is: stacks of goroutines are at least 2 KiB
// apart, and a goroutine's stays where it is while it does not grow. A shared or a changed lane costs time, never
// uniqueness. Factor is odd and says which hash; callers that meet with one do not with the next.
func Pick(n int, factor uint64) uint64 {
	var b byte
	// The address is used as a number only, so the pointer rules of package unsafe have nothing to say.
	h := uint64(uintptr(unsafe.Pointer(&b))) >> 11 * factor
	return h >> 32 & uint64(n-1)
}
