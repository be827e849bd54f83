package ringbuffer

// The low signal is one bit, armed, with two transitions:
//
//	            a put leaves threshold or more
//	  disarmed ────────────────────────────────► armed
//	           ◄────────────────────────────────
//	            whoever finds less than threshold swaps it back, and calls onLow
//
// A ring at rest below the threshold costs a take one load, and submits nothing at all.
//
// No fall is missed. The taker moves the cursor and then loads armed; the producer stores armed and then loads the cursor.
// Whichever of the two comes second sees what the first has done, and the swap lets only one of them call onLow.

// Low reports whether less than PaddingFactor percent of the ring is left. An empty ring is low.
func (r *Ring) Low() bool { return r.length() < r.threshold }

// fall is the taker's side: it follows a take that saw armed.
func (r *Ring) fall() {
	if r.Low() && r.armed.CompareAndSwap(true, false) {
		r.onLow()
	}
}

// arm is the producer's side: it follows a put that left the tail at tail, and reports whether the caller must call onLow once it
// has released putMu. The caller holds putMu.
func (r *Ring) arm(tail int64) bool {
	if r.onLow == nil || r.armed.Load() || tail-r.cursor.Load() < r.threshold {
		return false
	}
	r.armed.Store(true)
	return r.Low() && r.armed.CompareAndSwap(true, false)
}
