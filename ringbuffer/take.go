package ringbuffer

// TryTake takes the oldest uid and reports whether there was one. It is lock-free: it starts over only when another taker
// took a uid meanwhile.
func (r *Ring) TryTake() (uid int64, ok bool) {
	for {
		c := r.cursor.Load()
		i := (c + 1) & r.mask
		if d := r.flags[i].pos.Load() - (c + 1); d != 0 {
			if d < 0 {
				// Position c+1 is not full, so nobody can have taken it: the cursor is still c, and the ring is empty.
				return 0, false
			}
			continue // the slot is a lap ahead of c: c is out of date
		}
		// The flag before the uid: seen the other way round, the uid could be of the lap before.
		uid := r.uids[i].Load()
		// The swap fails if the cursor moved since it was loaded. It succeeds only from c itself, as positions never come
		// back, and while the cursor is c the slot of c+1 is not refilled: the uid is the one of c+1, and ours. The
		// swap also hands the slot to the producer.
		if r.cursor.CompareAndSwap(c, c+1) {
			if r.armed.Load() {
				r.fall()
			}
			return uid, true
		}
	}
}

// TryTakeN takes up to len(dst) uids, which are consecutive in the order of the puts, and returns how many: dst[:n] are the
// caller's, in order, and dst[n:] has no meaning afterwards. It returns 0 only when the ring is empty or dst is. It may
// return fewer than are there when puts happen during the call. All n are claimed by one compare-and-swap.
func (r *Ring) TryTakeN(dst []int64) int {
	if len(dst) == 0 {
		return 0
	}
	for {
		c, n := r.full(int64(len(dst)))
		if n == 0 {
			return 0
		}
		for k := range n {
			dst[k] = r.uids[(c+1+k)&r.mask].Load()
		}
		// As in TryTake: success means that none of the n slots was refilled since c was loaded.
		if r.cursor.CompareAndSwap(c, c+n) {
			if r.armed.Load() {
				r.fall()
			}
			return int(n)
		}
	}
}

// DropBelow discards the oldest uid for as long as it is less than limit, and returns how many uids it discarded. It never
// discards a uid that is not less than limit, and behind one of those it discards nothing; so it drops all uids below limit if they
// were put in increasing order. It may be called beside takers and puts, and claims what it discards as a taker does.
func (r *Ring) DropBelow(limit int64) (n int) {
	const chunk = 64 // bounds the work that a taker in between undoes
	for {
		c, full := r.full(chunk)
		var k int64
		for k < full && r.uids[(c+1+k)&r.mask].Load() < limit {
			k++
		}
		if k == 0 {
			// Nothing to drop, provided that the uid looked at was still in the ring and not one of a later lap.
			if full == 0 || r.cursor.Load() == c {
				return n
			}
			continue
		}
		if r.cursor.CompareAndSwap(c, c+k) {
			n += int(k)
			if r.armed.Load() {
				r.fall()
			}
		}
	}
}

// full returns a cursor c and how many positions after it were full at one moment at which the cursor was c, at most want.
// It returns 0 only when the ring was empty at such a moment.
func (r *Ring) full(want int64) (c, n int64) {
	for {
		c = r.cursor.Load()
		if d := r.flags[(c+1)&r.mask].pos.Load() - (c + 1); d < 0 {
			return c, 0
		} else if d == 0 {
			// The flag speaks for c+1 alone, at once. The tail speaks for all that follow, without a look at each flag, but
			// a put stores it last: it may still be behind the flag.
			return c, min(max(r.tail.Load()-c, 1), want, r.size)
		}
	}
}
