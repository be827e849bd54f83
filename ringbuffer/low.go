package ringbuffer

import "math"

// The low signal is one position, lowAt: the cursor with which the ring falls low. The producer moves it ahead of the cursor
// with each put that leaves the ring at the threshold or above, and not otherwise:
//
//	                  lowAt = tail-threshold+1
//	        cursor      │                         tail
//	──────────▼─────────▼──────────────────────────▼────►  positions
//	                    │◄── threshold-1 uids ────►│
//
// The cursor steps on or over a given lowAt once, in one taker's swap, and it is that taker who calls onLow. All other takes
// pay one load and submit nothing, however low the ring is.
//
// No fall is missed. The taker moves the cursor and then loads lowAt; the producer stores lowAt and then loads the cursor.
// Whichever of the two comes second sees what the first has done. When both see it, swapping lowAt for a position out of
// reach decides who calls onLow. The swap names the position that was stepped over, so that a taker that is late cannot
// undo what a later put has stored.

// away is the distance of a lowAt that nobody steps over: half the number space, which is out of reach in either direction.
const away = math.MinInt64

// Low reports whether less than PaddingFactor percent of the ring is left. An empty ring is low.
func (r *Ring) Low() bool { return r.length() < r.threshold }

// took ends a take that moved the cursor from c to c+n: it calls onLow if the cursor stepped on or over lowAt. It is small
// enough to be inlined.
func (r *Ring) took(c, n int64) {
	if uint64(r.lowAt.Load()-c-1) < uint64(n) { // lowAt is in c+1..c+n
		r.fall(c, n)
	}
}

// fall is the rare part of took. A lowAt that has moved on since is another fall's, and not this taker's.
func (r *Ring) fall(c, n int64) {
	at := r.lowAt.Load()
	if uint64(at-c-1) < uint64(n) && r.lowAt.CompareAndSwap(at, at+away) {
		r.onLow()
	}
}

// arm is for the producer that moved the tail and then saw cursor. It reports whether the ring fell low again before arm was
// through, so that the caller must call onLow once it has released putMu. The caller holds putMu.
func (r *Ring) arm(tail, cursor int64) (fell bool) {
	if tail-cursor < r.threshold {
		return false
	}
	at := tail - r.threshold + 1
	r.lowAt.Store(at)
	return r.cursor.Load()-at >= 0 && r.lowAt.CompareAndSwap(at, at+away)
}
