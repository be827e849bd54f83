package ringbuffer

// A take looks, then claims. Looking (peek, full) reads what may be changing. Claiming is one
// compare-and-swap of the cursor from the value that it loaded first. It succeeds only if the
// cursor still has that value, and as the cursor never returns to an old value, it had it all
// along. While the cursor is c, no slot of c+1 to c+size is refilled: what it found in full
// slots is valid and belongs to the taker whose claim succeeds.

// TryTake takes the oldest uid and reports whether there was one. It is lock-free: it starts over
// only when another caller took a uid meanwhile. It costs one compare-and-swap and does not
// allocate.
func (r *Ring) TryTake() (uid int64, ok bool) {
	for {
		c := r.cursor.Load()
		uid, ahead := r.peek(c)
		if ahead == 0 {
			if r.claim(c, 1) {
				return uid, true
			}
		} else if ahead < 0 {
			return 0, false
		}
	}
}

// TryTakeN takes up to len(dst) uids, consecutive in the order of the puts, and returns how many:
// dst[:n] belong to the caller, in order, and dst[n:] has no meaning afterwards. It returns 0 only
// when the ring or dst is empty. It may return fewer than are there when puts happen during the
// call. One compare-and-swap claims them all. TryTakeN is lock-free and does not allocate.
func (r *Ring) TryTakeN(dst []int64) int {
	if len(dst) == 0 {
		return 0
	}
	for {
		c := r.cursor.Load()
		n := r.full(c, int64(len(dst)))
		if n == 0 {
			return 0
		}
		for k := range n {
			dst[k] = r.uids[(c+1+k)&r.mask].Load()
		}
		if n > 0 && r.claim(c, n) {
			return int(n)
		}
	}
}

// DropBelow discards the oldest uid for as long as it is less than limit, and returns how many uids
// it discarded. It never discards a uid that is not less than limit, nor one put after such a uid.
// If uids are put in increasing order, every uid below limit goes. It is safe to call concurrently
// with takes and puts: it claims what it discards as a take does.
func (r *Ring) DropBelow(limit int64) (n int) {
	for {
		k, again := r.drop(r.cursor.Load(), limit)
		n += k
		if !again {
			return n
		}
	}
}

// drop discards what is below limit from the few positions after the cursor c, and reports whether
// another round is worthwhile.
func (r *Ring) drop(c, limit int64) (n int, again bool) {
	const few = 64 // bounds what a check costs that another claim makes worthless
	full := r.full(c, few)
	var k int64
	for k < full && r.uids[(c+1+k)&r.mask].Load() < limit {
		k++
	}
	switch {
	case full == 0:
		return 0, false
	case k < 1:
		// The oldest uid is not below limit, provided that the cursor has not moved meanwhile.
		return 0, r.cursor.Load() != c
	case !r.claim(c, k):
		return 0, true
	}
	return int(k), true
}

// peek looks at the position after the cursor c. ahead is 0 when its slot is full; then uid is its
// uid as long as the cursor is c. ahead is negative when the slot is not filled yet: no taker can
// have taken what is not there, so the cursor was still c, and the ring empty. ahead is positive
// when a later lap has refilled the slot: c is out of date.
func (r *Ring) peek(c int64) (uid, ahead int64) {
	i := (c + 1) & r.mask
	// Load the flag before the uid. Otherwise the uid could be that of the lap before the flag's.
	ahead = r.flags[i].pos.Load() - (c + 1)
	return r.uids[i].Load(), ahead
}

// full returns how many positions after the cursor c are full, at most want, as long as the cursor
// is c. 0 means that the ring was empty, -1 that c is out of date.
func (r *Ring) full(c, want int64) int64 {
	switch ahead := r.flags[(c+1)&r.mask].pos.Load() - (c + 1); {
	case ahead < 0:
		return 0
	case ahead > 0:
		return -1
	}
	// The flag speaks for c+1 alone, and at once. The tail speaks for all positions up to it
	// without loading each flag, but a put stores it last: it may be behind the flag. A tail of
	// another lap does no harm, because c is out of date then.
	return min(max(r.tail.Load()-c, 1), want, r.size)
}

// claim takes the n positions after the cursor c, and reports whether it could. The swap gives
// their uids to the caller, which has looked at them, and their slots to the producer.
func (r *Ring) claim(c, n int64) bool { return r.cursor.CompareAndSwap(c, c+n) }
