package uid

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/ringbuffer"
)

// composer makes run heads ahead of demand: it owns the position and puts what it composes into the
// ring. It counts in numbers, as lanes do. Its methods lock themselves and are safe for concurrent
// use; functions that say "under mu" are their parts. The package comment's glossary has the words.
//
//	          oldest run          newest run  pos
//	              │                   │        │
//	──────────────▼───────────────────▼────────▼──────────►  numbers
//	 handed out,  │  in the ring, put │ composed next
//	 or in lanes  │  as run heads     │ (now or ahead of the clock)
//
// Invariants:
//
//   - The position only grows, and it moves before the runs below it are put. No number is composed
//     twice, whatever happens in between.
//   - A run is composed only when its slot is free. There is one producer at a time, so room that
//     was seen can only grow, and nothing that was composed is thrown away for want of room.
//   - A run lies inside one tick: every tick's first position is a multiple of the run length, and
//     the length divides the sequence space. So a run has one time, and is too old as a whole.
//   - Ring and lanes hold runs of one worker id, in increasing order.
//   - Under mu nothing is waited for, the claim is not called, and no user function runs. The order
//     of the locks is composer.mu, lane.mu, the ring's.
//
// The clock is read before mu is locked, because Options.Clock is a user's function. So a reading
// may be older than what others have done meanwhile. That is harmless: it moves the position less
// far.
type composer struct {
	*core
	ring   *ringbuffer.Ring
	lanes  []lane
	runLen uint64 // RunLength
	low    int    // PaddingFactor, in runs

	_, _ cpu.CacheLinePad

	mu      sync.Mutex
	pos     atomic.Uint64 // what is composed next; written under mu, loaded by Stats and the keeper
	window  *window       // guarded by mu: what the newest run was composed under
	bounded error         // guarded by mu: what stopped the last attempt, nil if nothing did
	heads   [64]int64     // guarded by mu: one batch, so short that callers do not wait long
	stale   atomic.Int64  // runs that were dropped from the ring
}

// newComposer returns a composer whose position is the current tick, with an empty ring, for lanes
// that are used up. Nothing is shared yet, so jump needs no lock.
func newComposer(c *core, lanes []lane) *composer {
	slots := c.opts.slots()
	ring, _ := ringbuffer.New(int(slots), nil) // Options ensure a power of two that New accepts
	p := &composer{
		core: c, ring: ring, lanes: lanes, runLen: uint64(c.opts.RunLength),
		low:    int((slots*int64(c.opts.PaddingFactor) + 99) / 100),
		window: c.keeper.window.Load(),
	}
	p.jump(p.window, c.clock.now())
	for i := range lanes {
		lanes[i].setSkip(p.skip(i))
	}
	return p
}

// fill composes one batch. It returns how many runs it put into the ring and, if a bound stopped
// it, the bound: ErrClosed, ErrExhausted, ErrLead, or why the claim does not cover the position. 0
// and nil mean that the ring is full. It waits for a batch that another goroutine composes, and for
// nothing else.
func (p *composer) fill() (n int, err error) { return p.batch(true) }

// fillWhile composes until the ring is full, a bound stops it, which it returns, or more says after
// a batch that there is to be no further one. It reports whether the ring was full. It releases mu
// between batches, so that callers do not wait for a large ring.
//
// It composes a ring's worth at most. Where runs grow old faster than the ring is filled, each
// batch drops some, and the ring is never full.
func (p *composer) fillWhile(more func() bool) (full bool, err error) {
	for left := p.ring.Cap(); left > 0; {
		n, err := p.fill()
		if n == 0 {
			return err == nil, err
		}
		if left -= n; !more() {
			break
		}
	}
	return p.ring.Len() == p.ring.Cap(), nil
}

// isLow reports whether fewer runs than PaddingFactor says are left in the ring. It takes no lock:
// a wrong answer composes a batch too early or too late.
func (p *composer) isLow() bool { return p.ring.Len() < p.low }

// top composes one batch for a caller that left the ring low, and reports whether another batch
// would fit. It does nothing while another goroutine composes, because the caller has its ids
// already and must not wait. It drops the bound that stopped it, for the same reason: the caller
// that finds the ring empty gets it.
func (p *composer) top() (more bool) {
	n, err := p.batch(false)
	return n > 0 && err == nil && p.ring.Cap()-p.ring.Len() >= len(p.heads)
}

// batch refreshes what is too old, composes one batch, and opens the gate if that is news to
// callers that wait. Where another goroutine composes, it waits for that only if wait says so.
func (p *composer) batch(wait bool) (n int, err error) {
	now := p.clock.now()
	if wait {
		p.mu.Lock()
	} else if !p.mu.TryLock() {
		return 0, nil
	}
	// Otherwise what is composed now would be dropped in the padder's next turn.
	if p.pos.Load() < p.oldestAllowed(now) {
		p.refresh(now)
	}
	n, err = p.compose(now)
	news := n > 0 || !sameKind(p.bounded, err)
	p.bounded = err
	renew := p.pos.Load() >= p.window.renew || err == errExtending
	p.mu.Unlock()
	// These calls take locks of their own, so they come after mu's. A waiter that this wakes finds
	// the runs: they were put before.
	if news {
		p.gate.open()
	}
	if n > 0 {
		p.keeper.resumed()
	}
	if renew {
		p.keeper.kick() // a burst gets there ahead of the keeper's timer
	}
	return n, err
}

// follow makes ring, lanes and position follow the clock. It is what bounds the lag of an idle
// generator; the padder calls it, because no caller does then.
func (p *composer) follow() {
	now := p.clock.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh(now)
}

// bound returns what forbids composing, nil if nothing does. It is a check: another goroutine may
// compose up to a bound, or the claim may be extended, before the caller acts on it.
func (p *composer) bound() error {
	now := p.clock.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.allows(p.keeper.window.Load(), p.pos.Load(), now)
}

// allows is permits for the next batch.
func (p *composer) allows(w *window, pos uint64, now time.Time) error {
	return p.permits(w, p.upcoming(w, pos, now), now)
}

// upcoming returns the position, or its tick, that a batch under w would begin at when pos is the
// position: it begins at the clock and not at a position of long ago. jump has left that there, or
// is going to move it.
func (p *composer) upcoming(w *window, pos uint64, now time.Time) uint64 {
	if pos < max(w.from, p.oldestAllowed(now)) {
		return max(w.from, p.timeline.at(now))
	}
	return pos
}

// nextNumber returns the number that is composed next; ok reports whether there is one. It takes
// nothing: the same number is composed later.
func (p *composer) nextNumber() (n uint64, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	pos := p.pos.Load()
	return p.timeline.of(pos).number(pos, p.window.worker), pos < p.timeline.end()
}

// oldest returns the number of the ring's oldest run, or the position if the ring is empty. It
// takes no lock. A position has the time of its number, whatever the worker id is.
func (p *composer) oldest() uint64 {
	if n, ok := p.ring.Oldest(); ok {
		return uint64(n)
	}
	return p.pos.Load()
}

// front returns the end of the position's tick: what the claim's window has to stay ahead of.
func (p *composer) front() time.Time { return p.timeline.time(p.timeline.next(p.pos.Load())) }

// ids returns how many ids a number of runs has, or the largest int64.
func (p *composer) ids(runs int) int64 {
	hi, lo := bits.Mul64(uint64(runs), p.runLen)
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

// drain takes all ids away that were not handed out, and returns the end of the last tick that an
// id may have been handed out of. The generator is closed, so nothing is composed afterwards, and
// the ring is empty, so no lane is refilled.
//
// The oldest run in the ring tells that tick: lanes get runs in the ring's order, so every number
// that a lane ever had lies below it. If it is not the first run of its tick, the tick may be in
// use, and its end counts.
func (p *composer) drain() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lockLanes()
	defer p.unlockLanes()
	// With all lanes held no caller takes a run: every run from the oldest one on is still in the
	// ring.
	oldest := p.oldest()
	p.dropAll()
	if p.timeline.of(oldest).begun(oldest) {
		oldest = p.timeline.next(oldest)
	}
	return p.timeline.time(oldest)
}

// compose puts one batch of runs into the ring, as many as there is room for, and returns their
// number and, if a bound stopped it, the bound. Under mu.
//
// The window is loaded once, so that the whole batch has one worker id. The keeper may replace it
// meanwhile. The old one is still valid to its window's end, because the authority gives that
// window to no other owner; the next batch uses the new one.
func (p *composer) compose(now time.Time) (n int, err error) {
	w := p.keeper.window.Load()
	if w.worker != p.window.worker || p.pos.Load() < w.from {
		p.replace(w, now)
	}
	// What the runs from here on are composed under. If w is of another worker id, replace has
	// emptied ring and lanes, so they hold runs of one.
	p.window = w
	// Room that is seen here can only grow until TryPutN, because mu makes this the one producer.
	room := min(p.ring.Cap()-p.ring.Len(), len(p.heads))
	pos := p.pos.Load()
	e := p.timeline.of(pos)
	for ; n < room; n++ {
		// All bounds are bounds of ticks, so one check per tick is enough.
		if n == 0 || !e.begun(pos) {
			if err = p.allows(w, pos, now); err != nil {
				break
			}
		}
		p.heads[n] = int64(e.number(pos, w.worker))
		last := pos
		if pos += p.runLen; !e.begun(pos) { // the sequence is used up
			pos = p.timeline.next(last)
			e = p.timeline.of(pos)
		}
	}
	p.pos.Store(pos)            // before the put: what callers can see lies below the position
	p.ring.TryPutN(p.heads[:n]) // all of them fit
	return n, err
}

// refresh takes away the runs that become too old, and jumps to the current tick if there were
// any. Under mu.
//
// The ring goes first. A caller that refills a lane after that gets a run that drop has left, which
// is not too old. The other way round, a lane that was looked at could be refilled with a run that
// is.
func (p *composer) refresh(now time.Time) {
	limit := p.oldestAllowed(now)
	// Either says that the generator was idle: a run grew old, or the position did.
	stale := p.drop(limit) > 0 || p.pos.Load() < limit
	if stale {
		p.jump(p.keeper.window.Load(), now)
	}
	for i := range p.lanes {
		if stale {
			p.lanes[i].setSkip(p.skip(i))
		}
		p.lanes[i].expire(limit)
	}
}

// oldestAllowed returns the oldest tick that will still be younger than MaxLag two padder intervals
// from now, 0 if that would lie before the first one. An id that stays is checked again an interval
// later. The second interval is a reserve for a turn that comes late. Options ensure that two
// intervals and a tick fit into MaxLag.
func (p *composer) oldestAllowed(now time.Time) uint64 {
	then := now.Add(2*p.opts.ScheduleInterval - p.opts.MaxLag)
	if then.Before(p.opts.Layout.Epoch) {
		return 0
	}
	return p.timeline.next(p.timeline.at(then))
}

// jump moves the position to the current tick, or to where w begins if that is later, at a sequence
// number that a hash spreads, and drops the runs below. A position that is ahead stays where it is:
// that is why a clock that goes back costs no uniqueness. Nor does it move to a tick at or beyond
// the window's end, where nothing can be composed: a clock that is wrong, and for which the
// authority extends no window, must not drag it there. The end of the time bits is the end. Under
// mu.
func (p *composer) jump(w *window, now time.Time) {
	pos := w.from
	if tick := p.timeline.at(now); tick < w.end || w.end == p.timeline.end() {
		pos = max(pos, tick)
	}
	e := p.timeline.of(pos)
	pos = e.start(pos, w.worker) &^ (p.runLen - 1) // at a run's head
	p.drop(e.number(pos, w.worker))
	p.pos.Store(max(p.pos.Load(), pos))
}

// drop drops the ring's runs below limit, and returns their number. Under mu, so nothing is put
// meanwhile; callers may take.
func (p *composer) drop(limit uint64) (n int) {
	if limit > math.MaxInt64 { // the end of 63 bits
		return p.dropAll()
	}
	n = p.ring.DropBelow(int64(limit))
	p.stale.Add(int64(n))
	return n
}

// dropAll is drop for all runs.
func (p *composer) dropAll() (n int) {
	var heads [16]int64
	for k := 1; k > 0; n += k {
		k = p.ring.TryTakeN(heads[:])
	}
	p.stale.Add(int64(n))
	return n
}

// replace begins with a window of another worker id, or with one that begins above the position. It
// drops what ring and lanes hold of the old claim, so that no lane gets an old run afterwards: a
// lane's runs must rise, and the new worker id's numbers may lie below the old one's within a tick.
// Under mu.
//
// Nothing else is put while mu is held, so the emptied ring stays empty. Locking a lane waits for a
// refill that has taken a run already, and drops the rest of that run. So either may come first;
// only the check of drain needs the lanes before the ring.
func (p *composer) replace(w *window, now time.Time) {
	p.lockLanes()
	defer p.unlockLanes()
	p.dropAll()
	// The worker bits are above the sequence: with a smaller worker id the numbers would fall if
	// the position stayed in its tick.
	pos := p.pos.Load()
	if p.timeline.of(pos).begun(pos) {
		p.pos.Store(p.timeline.next(pos))
	}
	p.jump(w, now)
}

// lockLanes locks all lanes and drops their rests. Under mu, which is what keeps two goroutines
// from locking some lanes each.
func (p *composer) lockLanes() {
	for i := range p.lanes {
		p.lanes[i].mu.Lock()
		p.lanes[i].drop()
	}
}

// unlockLanes undoes lockLanes' locking.
func (p *composer) unlockLanes() {
	for i := range p.lanes {
		p.lanes[i].mu.Unlock()
	}
}

// skip returns how far into its next run lane i begins after a jump. Without it every refreshed
// lane would start at a run's head, and a quiet service's ids would be multiples of RunLength. It
// is less than RunLength, so a number of the run is left, and less than SeqStart, which bounds
// where a tick starts.
func (p *composer) skip(i int) uint64 {
	pos := p.pos.Load()
	e := p.timeline.of(pos)
	return mix(pos>>e.tickShift<<10^uint64(i)) % min(p.runLen, e.seqStart)
}
