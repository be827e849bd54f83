package uid

import (
	"context"
	"unsafe"
)

// batchRuns is the number of runs that one refill takes for Fill at most. Their heads fit on the
// caller's stack, in 128 bytes, and one compare-and-swap of the ring's cursor takes them all.
const batchRuns = 16

// Fill sets every element of ids, in increasing order, for a fraction of Next's price each: what is
// left of a run, and whole runs, are claimed at once. Without GeneBits the ids are consecutive but
// for jumps; with GeneBits each id takes its gene from its own sequence number. Fill allocates
// nothing while it does not wait.
//
// It returns how many it set. Fewer than len(ids) come together with one of the errors of Next, and
// ids[:n] are valid ids all the same. It fills slices of any length; those longer than the ring
// make it compose, and so run ahead of the clock, or wait at MaxLead.
func (c *Cached) Fill(ctx context.Context, ids []ID) (int, error) {
	n, err := c.fill(ctx, c.seats.of(uintptr(unsafe.Pointer(&ctx))), ids)
	c.timeline.spread(ids[:n])
	return n, err
}

// FillGene is Fill for a Layout with GeneBits: every id carries the gene of key, its low GeneBits
// bits. Without GeneBits it fails with ErrNoGene and sets nothing.
func (c *Cached) FillGene(ctx context.Context, key int64, ids []ID) (int, error) {
	if c.timeline.geneMask == 0 {
		return 0, ErrNoGene
	}
	n, err := c.fill(ctx, c.seats.of(uintptr(unsafe.Pointer(&ctx))), ids)
	c.timeline.carry(ids[:n], key)
	return n, err
}

// fill sets ids to ids with gene 0, all from one lane, because only the ids of one lane increase.
// It returns how many it set, fewer than len(ids) together with an error.
//
// Each turn of its loop takes the first step that gives ids: what is left in the lane, which is
// that of the seat, runs of the ring, composing, and while it has no id another lane. It waits, or
// fails, only if lane and ring were empty at one instant, which refill sees under the lane's lock,
// after a check of the bound that forbids composing.
func (c *Cached) fill(ctx context.Context, seat uint64, ids []ID) (n int, err error) {
	var heads [batchRuns]int64
	var ready <-chan struct{}
	var reason error // why nothing could be composed, in the last turn
	l := c.laneOf(seat)
	for n < len(ids) {
		// What is left in the lane comes first, also after a wait: otherwise its ids would be
		// handed out after higher ones.
		if first, got := l.takeN(uint64(len(ids) - n)); got > 0 {
			count(ids[n:n+int(got)], first, c.timeline.geneBits)
			n += int(got)
			// Ids were there, so what forbade composing before is out of date.
			reason = nil
			continue
		}
		want := uint64(len(ids) - n)
		need := min(batchRuns, (want-1)/c.composer.runLen+1) // runs, rounded up
		// The result has one of three forms: runs to count, none because another caller was faster,
		// which is progress, or none because the ring is empty.
		runs, skip, empty := c.refill(l, seat, heads[:need], want)
		n += c.countRuns(ids[n:], heads[:runs], skip)
		switch {
		case !empty:
			reason = nil
		// The first turn with nothing: learn why, then look at lane and ring once more before
		// acting on it.
		case reason == nil:
			ready, reason = c.waitForRun()
		default:
			// Only a caller without an id may change lanes: another lane's may be lower.
			if n == 0 {
				if other := c.held(); other != nil {
					l, reason = other, nil
					continue
				}
			}
			c.kick() // the padder sees that a caller waits
			c.keeper.refused()
			if err = c.refuse(ctx, reason, ready, 0); err != nil {
				return n, err
			}
			reason = nil
		}
	}
	return n, nil
}

// held returns a lane that has a number, or nil. A refill that has taken runs from the ring holds
// its lane's lock until they are in the lane. So the lock makes held wait for runs that are in
// neither place, for a few instructions a lane.
func (c *Cached) held() *lane {
	for i := range c.lanes {
		l := &c.lanes[i]
		l.mu.Lock()
		used := l.isUsedUp()
		l.mu.Unlock()
		if !used {
			return l
		}
	}
	return nil
}

// refill is lane.refill for a caller with a seat. It moves the seat if others keep refilling the
// lane in turn with it, and composes a batch if the ring is low.
func (c *Cached) refill(l *lane, seat uint64, heads []int64,
	n uint64) (runs int, skip uint64, empty bool) {
	runs, skip, empty = l.refill(c.composer.ring, c.composer.runLen, heads, n)
	if runs == 0 {
		return 0, 0, empty
	}
	if c.seats.note(l, seat) {
		c.seats.move(c.lanes, seat)
	}
	// Composing takes longer than a refill, and no lock is held. It is still quicker than waking
	// the padder, which is woken for what one batch does not fill.
	if c.composer.isLow() && (!c.pads || c.composer.top()) {
		c.kick()
	}
	return runs, skip, false
}

// laneOf returns a seat's lane. The seat may move while the caller uses the lane, which does no
// harm.
func (c *Cached) laneOf(seat uint64) *lane {
	if c.seats.mask == 0 {
		return c.first
	}
	return c.seats.lane(seat)
}

// countRuns sets ids to the numbers of runs, whose first skip numbers are passed over, and returns
// how many ids it set: all of them, or all numbers of the runs if these are fewer. Runs that follow
// one another are counted in one go.
func (c *Cached) countRuns(ids []ID, heads []int64, skip uint64) (n int) {
	for i := 0; i < len(heads); {
		first := uint64(heads[i]) + skip
		end := uint64(heads[i]) + c.composer.runLen
		for i++; i < len(heads) && uint64(heads[i]) == end; i++ {
			end += c.composer.runLen
		}
		k := int(min(end-first, uint64(len(ids)-n)))
		count(ids[n:n+k], first, c.timeline.geneBits)
		n += k
		skip = 0
	}
	return n
}

// count sets dst to the ids, with gene 0, of consecutive numbers. Eight stores a turn, because the
// compiler does not unroll: its plain loop takes up to twice the time, depending on its alignment.
// The conversion to an array pointer checks the length once for all eight.
func count(dst []ID, first uint64, geneBits uint) {
	id, step := ID(first<<(geneBits&63)), ID(1)<<(geneBits&63)
	for ; step == 1 && len(dst) >= 8; dst = dst[8:] {
		d := (*[8]ID)(dst)
		d[0], d[1], d[2], d[3] = id, id+1, id+2, id+3
		d[4], d[5], d[6], d[7] = id+4, id+5, id+6, id+7
		id += 8
	}
	for i := range dst {
		dst[i] = id
		id += step
	}
}
