package uid

import (
	"errors"
	"time"

	"github.com/uidring/uidring/ringbuffer"
)

// padder keeps the ring full and honest until Close: it looks whenever the ring runs low, and every ScheduleInterval
// because an idle service's ids go stale too.
func (c *Cached) padder() {
	timer := time.NewTimer(c.opts.ScheduleInterval)
	defer timer.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-c.wake:
		case <-timer.C:
		}
		timer.Reset(c.look())
	}
}

// look is one padding run. It returns how long the padder may sleep.
func (c *Cached) look() time.Duration {
	c.runs.Add(1)
	c.mu.Lock()
	c.refresh()
	n, err := c.compose(c.ring.Cap())
	changed := !sameKind(c.bounded, err)
	c.bounded = err
	tick, next := c.tick.Load(), c.nextID()
	renew := tick >= c.composed.renew
	c.mu.Unlock()

	if n > 0 || changed {
		c.gate.open()
	}
	if renew {
		c.keeper.kick() // a burst gets there ahead of the keeper's timer
	}
	switch {
	case err == nil && c.ring.Len() == c.ring.Cap():
		c.full(next)
	case errors.Is(err, ErrLead) && c.waiting.Load() > 0:
		// Somebody waits for the clock to let the position's tick in.
		opens := c.alloc.TimeAt(tick - int64(c.opts.MaxLead/c.opts.Layout.Tick))
		return min(c.opts.ScheduleInterval, max(minInterval/10, opens.Sub(c.clock.now())))
	}
	return c.opts.ScheduleInterval
}

// full applies the put policy to a ring that has no room for next.
func (c *Cached) full(next ID) {
	var err error
	switch {
	case c.opts.PutFunc != nil:
		err = c.opts.PutFunc(next)
	case c.opts.PutPolicy == Fail:
		err = ringbuffer.ErrFull
	}
	if err != nil {
		c.rejPut.Add(1)
		if !c.refused {
			c.opts.Logger.Warn("ring is full", "next", int64(next), "error", err)
		}
	}
	c.refused = err != nil
}

// pad is a padding run by a caller who found the ring empty. It returns nil if there is something to take, else the bound that
// keeps the position where it is.
func (c *Cached) pad() error {
	c.pads.Add(1)
	c.mu.Lock()
	if c.tick.Load() < c.floor() {
		c.refresh()
	}
	n, err := c.compose(len(c.heads))
	c.mu.Unlock()
	if n == 0 {
		return err
	}
	if c.waiting.Load() > 1 { // the caller itself is one
		c.gate.open()
	}
	return nil
}

// floor returns the first tick that will not be MaxLag old before the padder's next look but one.
func (c *Cached) floor() int64 {
	return c.alloc.TickAt(c.clock.now().Add(2*c.opts.ScheduleInterval-c.opts.MaxLag)) + 1
}

// begin gives a new generator its position, in the present, and fills the ring.
func (c *Cached) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.composed = c.keeper.grant.Load()
	c.seq.Store(-1) // before every position, so that the jump is one
	c.jump()
	c.succeed(c.composed, nil)
	for i := range c.tenure.Load().lanes {
		c.tenure.Load().lanes[i].skip = c.skip(i)
	}
	_, c.bounded = c.compose(c.ring.Cap()) // a bound is the first caller's to meet
}

// refresh makes ring, lanes and position follow the clock: it takes away the runs that begin to be too old, and jumps to the
// present if there were any. The caller holds mu.
func (c *Cached) refresh() {
	floor := c.floor()
	if floor <= 0 {
		return
	}
	stale := c.ring.DropBelow(c.firstOf(floor))
	c.stale.Add(int64(stale))
	jump := stale > 0 || c.tick.Load() < floor
	if jump {
		c.jump()
	}
	t := c.tenure.Load()
	for i := range t.lanes {
		l := &t.lanes[i]
		l.mu.Lock()
		if l.expire(&c.codec, floor-t.tick0) && jump {
			l.skip = c.skip(i)
		}
		l.mu.Unlock()
	}
}

// jump moves the position to the present tick, at a sequence number that a hash spreads, and drops the runs before it. A
// position that is ahead stays where it is. The caller holds mu.
func (c *Cached) jump() {
	g := c.keeper.grant.Load()
	tick := c.nowTick(g)
	seq := c.startSeq(tick, g.worker) &^ (c.runLen - 1)
	c.stale.Add(int64(c.ring.DropBelow(c.firstOf(tick) | g.base | seq<<c.seqShift)))
	if at := c.tick.Load(); at < tick || at == tick && c.seq.Load() < seq {
		c.tick.Store(min(tick, c.alloc.MaxTick()+1))
		c.seq.Store(seq)
	}
}

// skip returns how far into its next run lane i begins after a jump. Without it every refreshed lane would start at a
// run's head, and a quiet service's ids would be multiples of RunLength.
func (c *Cached) skip(i int) int64 {
	bound := min(c.runLen, c.opts.SeqStart)
	return int64(mix(uint64(c.tick.Load())<<10^uint64(i)) % uint64(bound))
}

// compose puts up to limit runs into the ring, as many as there is room for: a run is composed only when its slot is free, so
// none is wasted. It returns their number and, if a bound stopped it, the bound. The caller holds mu.
func (c *Cached) compose(limit int) (n int, err error) {
	g := c.keeper.grant.Load()
	if c.composed.worker != g.worker || c.tick.Load() < g.from {
		c.replace(g)
	}
	c.composed = g
	lead := c.leadTicks()
	for n < limit {
		room := min(limit-n, c.ring.Cap()-c.ring.Len(), len(c.heads))
		if room == 0 {
			break
		}
		if err := c.bound(g, lead); err != nil {
			return n, err
		}
		tick, seq := c.tick.Load(), c.seq.Load()
		if tick-c.tenure.Load().tick0 >= c.codec.ticks {
			c.rebase(g)
		}
		room = int(min(int64(room), (c.seqSpace-seq)/c.runLen))
		head := c.firstOf(tick) | g.base | seq<<c.seqShift
		for i := range room {
			c.heads[i] = head
			head += c.runLen << c.seqShift
		}
		// The position moves first: whatever happens in between, no run is composed twice.
		if seq += int64(room) * c.runLen; seq == c.seqSpace {
			tick, seq = tick+1, 0
		}
		c.tick.Store(tick)
		c.seq.Store(seq)
		c.ring.TryPutN(c.heads[:room]) // all of them fit: takers only make room, and putting takes mu
		n += room
	}
	return n, nil
}

// replace ends the tenure of a claim that was lost and begins the grant's, whose worker id or window is another. What the ring
// and the lanes hold of the old one is dropped. The caller holds mu.
func (c *Cached) replace(g *grant) {
	c.tenure.Load().seal(&c.codec) // before the ring is emptied: no lane gets a run from here on
	c.stale.Add(int64(c.ring.DropBelow(1<<63 - 1)))
	// The new worker id may be the smaller one: only a new tick keeps the ids increasing.
	tick := max(c.tick.Load(), g.from)
	if tick == c.tick.Load() && c.seq.Load() > 0 {
		tick++
	}
	c.tick.Store(tick)
	c.seq.Store(0)
	c.jump()
	c.succeed(g, nil)
}

// rebase begins a tenure of the same worker id with a base tick that the position is near to. What the lanes hold is
// carried over. The caller holds mu.
func (c *Cached) rebase(g *grant) {
	old := c.tenure.Load()
	c.succeed(g, old.seal(&c.codec))
}

// succeed publishes a new tenure. Its base tick is the oldest that the ring holds; rests is what seal returned of a tenure
// with the same worker id, and goes on in the new one's lanes. The caller holds mu, and no lane is open.
func (c *Cached) succeed(g *grant, rests []uint64) {
	// The ring is contiguous and much shorter than a tenure, so that what it holds fits into the new one.
	tick0 := max(0, c.tick.Load()-int64(c.ring.Len())*c.runLen/c.seqSpace-1)
	t, old := newTenure(&c.codec, c.opts.Lanes, g, tick0), c.tenure.Load()
	for i, w := range rests {
		if tick := old.tick0 + c.codec.tick(w); c.codec.left(w) > 0 && tick >= tick0 {
			_, _, seq, _ := c.alloc.Split(c.codec.geneID(old.base, w))
			t.lanes[i].word.Store(c.codec.word(tick-tick0, seq))
		}
	}
	c.tenure.Store(t)
}

// bound returns what forbids composing the position's tick, or nil. The caller holds mu.
func (c *Cached) bound(g *grant, lead int64) error {
	if c.closed.Load() {
		return ErrClosed // set before drain takes mu: nothing is composed behind what drain reports
	}
	tick := c.tick.Load()
	if err := g.permits(c.alloc, tick); err != nil {
		return err
	}
	if tick > lead {
		return ErrLead
	}
	return nil
}

// nextID returns the first id of the run that is composed next, for PutFunc. The caller holds mu.
func (c *Cached) nextID() ID {
	return ID(c.firstOf(c.tick.Load()) | c.composed.base | c.seq.Load()<<c.seqShift)
}
