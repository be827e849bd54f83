package ringbuffer

// TryPut puts uid into the ring and reports whether there was room. It does not wait for takers.
// Puts wait for each other, for the few instructions that one takes.
func (r *Ring) TryPut(uid int64) bool {
	r.putMu.Lock()
	tail := r.tail.Load()
	if r.free(tail, 1) < 1 {
		r.putMu.Unlock()
		return false
	}
	p := tail + 1
	i := p & r.mask
	r.uids[i].Store(uid)
	r.flags[i].pos.Store(p) // publishes the uid: the slot belongs to the takers
	r.tail.Store(p)
	r.putMu.Unlock()
	if r.waiters.Load() != 0 {
		r.signal()
	}
	return true
}

// TryPutN puts as many of uids as there is room for, in order, and returns how many: uids[:n] are
// in the ring, uids[n:] are not. It returns 0 only when the ring is full or uids is empty. The uids
// appear to takers all at once, for the price of one lock.
func (r *Ring) TryPutN(uids []int64) int {
	r.putMu.Lock()
	tail := r.tail.Load()
	n := min(int64(len(uids)), r.free(tail, int64(len(uids))))
	if n < 1 {
		r.putMu.Unlock()
		return 0
	}
	for k, uid := range uids[:n] {
		r.uids[(tail+1+int64(k))&r.mask].Store(uid)
	}
	// Takers go through the positions in order: none gets past tail+1 before its flag is stored.
	// Storing that flag last publishes the batch in one instruction.
	for p := tail + n; p != tail; p-- {
		r.flags[p&r.mask].pos.Store(p)
	}
	r.tail.Store(tail + n)
	r.putMu.Unlock()
	if r.waiters.Load() != 0 {
		r.signal()
	}
	return int(n)
}

// free returns how many positions after tail may be filled. The cursor only grows, so an old copy
// of it errs on the safe side. free loads the cursor itself only when the copy leaves no room for
// want. The caller holds putMu.
func (r *Ring) free(tail, want int64) int64 {
	if n := r.passed + r.size - tail; n >= want {
		return n
	}
	r.passed = r.cursor.Load()
	return r.passed + r.size - tail
}
