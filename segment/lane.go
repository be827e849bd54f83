package segment

import (
	"sync"
	"sync/atomic"
)

// lane is where callers get their ids: one word, and one atomic add for each id.
//
//	63                      32 31                       0
//	+-------------------------+--------------------------+
//	|  left, signed           |  newest id - zero        |
//	+-------------------------+--------------------------+
//
// The lower half stands for the newest id handed out, the upper half is how many ids are left behind it. A caller adds the
// stride to the one and takes 1 from the other in a single add. If the sum is not negative, it stands for an id, which is his
// alone, as no other add returns the same sum. If it is negative, nothing was left before him.
//
//	            add: left >= 0                     add: left < 0
//	           ┌──────────────┐                   ┌──────────────┐
//	           ▼              │   the last one    ▼              │
//	refill ► [ ids left       ]──────────────► [ used up         ]
//	           ▲              │                   ▲              │
//	           │              └── take away: Swap ┘              │
//	           └─────────────── refill: Store ───────────────────┘
//
// Owners: anyone may add at any time. Anyone may take away what is left, with a swap for 0: what it returns is the
// swapper's. Only the holder of mu, having found the lane used up, may give it a run, with a store that so overwrites
// nothing but failed adds, and publishes ids that were claimed elsewhere before.
//
// No ABA: only take compares, and only with a word that has ids left. Such a word is in a lane at most once, because
// whoever moves what is left takes the first id of it.
//
// Overflow: the lower half has room for a range's span and its stride (see maxSpan), and failed adds carry out of it into left
// less than they take from it. They count left down, which must not get around to where it is positive again. Whoever
// added in vain next finds ids in the lane, which a store over his trace brought, or calls lockUsedUp, which clears it. So left
// counts at most the goroutines between these steps, and there is room for 2^31 of them, 4 TiB of stacks.
type lane struct {
	word atomic.Int64

	// Used once a run.
	mu     sync.Mutex // nothing is waited for while it is held
	runs   int64      // guarded by mu: how many runs the lane was given
	met    int64      // guarded by mu: how many of them several callers asked for
	shared bool       // guarded by mu: met counts the newest one

	_ [128 - 40]byte // two cache lines: processors fetch them in pairs
}

const oneLeft = 1 << 32

// leftIn returns how many ids a lane with the word w has left.
func leftIn(w int64) int64 { return max(w>>32, 0) }

// take claims up to n ids at once, neighbours, and returns the word that stands for the first of them and their number, 0 if the
// lane is used up. It adds nothing in vain.
func (l *lane) take(add, n int64) (first, got int64) {
	for {
		w := l.word.Load()
		if got = min(n, leftIn(w)); got == 0 {
			return 0, 0
		}
		// A failure means that others took ids: they make progress.
		if l.word.CompareAndSwap(w, w+got*add) {
			return w + add, got
		}
	}
}

// lockUsedUp takes mu if the lane is used up, and reports that.
func (l *lane) lockUsedUp() bool {
	l.mu.Lock()
	if leftIn(l.word.Load()) > 0 { // another caller asked for a run as well, and was faster
		l.meet()
		l.mu.Unlock()
		return false
	}
	// Adds that come between the two lines fail as well: nothing but the holder of mu brings ids into a lane.
	l.word.Store(0)
	return true
}

// meet notes that several callers asked for the newest run. The caller holds mu.
func (l *lane) meet() {
	if !l.shared {
		l.shared = true
		l.met++
	}
}
