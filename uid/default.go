package uid

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/assigner"
)

// Default asks the clock for every id, as the snowflake family does. It runs ahead of the clock
// only where its claim's window begins there, and otherwise makes at most MaxSeq+1 ids a tick: a
// caller that wants one more waits, on a timer, for the next tick. It starts a goroutine only if
// its claim has to be kept alive; Close ends it. All methods are safe for concurrent use.
type Default struct {
	*core
	clockTick tickCache

	_, _ cpu.CacheLinePad

	// last is the position of the newest id, noPosition before the first one, closedPosition after
	// Close. It only grows: every id is the compare-and-swap that moved it there, so no position is
	// composed twice, whatever the clock does.
	//
	//	noPosition ──► position ──► higher position ──► ... ──► closedPosition
	//	       take: CompareAndSwap     take                 Close: Swap
	//
	// A take that loaded an older value fails its swap, because the word never returns to a value.
	// Positions end below 2^63, where the time bits do.
	last atomic.Int64

	_, _ cpu.CacheLinePad

	// skipped is how many positions last has jumped over, so that last + 1 - skipped ids were
	// handed out. jumping is how many calls may be between the two: skipped says nothing meanwhile.
	// Both change once a tick, with the first id of it.
	skipped, jumping atomic.Int64

	// The highest tick that was taken because the claim's window begins ahead of the clock. In
	// ticks up to it a clock that is behind has not gone back: it was never there.
	ahead atomic.Uint64

	rejRollback atomic.Int64 // Stats.RejectsRollback
	final       atomic.Int64 // last, when Close replaced it
	closing     sync.Once
	closeOf     error // of the first Close; written under closing, read after it
}

const (
	noPosition     = -1
	closedPosition = -1 << 63 // take never expects it in its swap, so it stays
)

var _ Generator = (*Default)(nil)

// NewDefault claims a worker id from a. It blocks until the assigner answers or ctx ends; ctx means
// nothing to the generator afterwards. Nil options mean the defaults. Errors wrap ErrOptions,
// bitsalloc.ErrLayout, ErrExhausted or what the assigner returned; a claim that was made is
// released then.
func NewDefault(ctx context.Context, a assigner.Assigner, o *DefaultOptions) (*Default, error) {
	all := o.options()
	var start time.Time
	if all.Clock == nil {
		start = time.Now()
	}
	return newDefault(ctx, a, all, all.clocks(), start)
}

// newDefault is NewDefault, reading the clocks by read. start is that of the tick cache; zero:
// every id reads the clocks.
func newDefault(ctx context.Context, a assigner.Assigner, o *Options, read readClocks,
	start time.Time) (*Default, error) {
	co, err := newCore(ctx, a, o, read)
	if err != nil {
		return nil, err
	}
	made := false
	defer co.keeper.abandon(&made)
	co.reportJump()
	d := &Default{core: co, clockTick: tickCache{core: co, start: start}}
	d.last.Store(noPosition)
	co.keeper.front = d.front
	co.keeper.changed = co.gate.open
	co.keeper.blocked = d.blocked
	co.keeper.run()
	made = true
	return d, nil
}

// newest returns the position of the newest id, or if there is none, or after Close, the tick that
// the first one would have now.
func (d *Default) newest() uint64 {
	if last := d.last.Load(); last >= 0 {
		return uint64(last)
	}
	return max(d.timeline.at(d.clock.now()), d.keeper.window.Load().from)
}

// front returns the end of the newest id's tick: what the claim's window has to stay ahead of.
func (d *Default) front() time.Time { return d.timeline.time(d.timeline.next(d.newest())) }

// Next returns an id. A call that starts after another has returned gets a higher id, unless a
// lost claim was replaced within a tick. It waits, until ctx ends, when the tick's
// sequence is used up. It allocates nothing while it does not wait.
//
// It fails with ErrClosed, ErrExhausted, ErrClaimExpired, assigner.ErrClaimLost or
// assigner.ErrSuperseded, with ErrClockBack as Rollback says, with ErrLead at MaxLead with
// TakeReject, with the error of a TakeFunc, and with one that wraps ctx's when ctx ends during a
// wait.
func (d *Default) Next(ctx context.Context) (ID, error) {
	n, _, err := d.take(ctx, 1)
	return d.timeline.keyless(n), err
}

// NextGene returns an id whose low GeneBits bits are the low bits of key, negative keys included.
// Otherwise it is Next. On a layout without GeneBits it fails with ErrNoGene.
func (d *Default) NextGene(ctx context.Context, key int64) (ID, error) {
	var id [1]ID
	_, err := d.FillGene(ctx, key, id[:])
	return id[0], err
}

// Fill sets every element of ids, in increasing order, and takes what is left of a tick's sequence
// at once. Like Next it waits for the next tick when a sequence is used up, so a long slice takes a
// tick for every MaxSeq+1 ids.
func (d *Default) Fill(ctx context.Context, ids []ID) (int, error) {
	n, err := d.fill(ctx, ids)
	d.timeline.spread(ids[:n])
	return n, err
}

// FillGene is Fill for a Layout with GeneBits: every id carries the gene of key.
func (d *Default) FillGene(ctx context.Context, key int64, ids []ID) (int, error) {
	if d.timeline.geneMask == 0 {
		return 0, ErrNoGene
	}
	n, err := d.fill(ctx, ids)
	d.timeline.carry(ids[:n], key)
	return n, err
}

// fill sets ids to ids with gene 0. It returns how many it set, fewer than len(ids) together with
// an error.
func (d *Default) fill(ctx context.Context, ids []ID) (n int, err error) {
	for n < len(ids) {
		first, got, err := d.take(ctx, uint64(len(ids)-n))
		if err != nil {
			return n, err
		}
		count(ids[n:n+int(got)], first, d.timeline.geneBits)
		n += int(got)
	}
	return n, nil
}

// take takes up to want consecutive positions of one tick, at least one, and returns the first
// one's number and how many it took. It waits where no position may be taken now. The loop needs no
// bound: a swap that fails says that another call has succeeded, and every other turn waits or
// returns.
func (d *Default) take(ctx context.Context, want uint64) (first, n uint64, err error) {
	for {
		last := d.last.Load()
		if last == closedPosition {
			return 0, 0, ErrClosed
		}
		// A position above last that the window covers is free: no other generator has the window's
		// worker id in its window, and the swap keeps the callers of this one apart.
		w := d.keeper.window.Load()
		pos, wait, err := d.after(last, w)
		if err == nil && wait == 0 {
			e := d.timeline.of(pos)
			n = min(want, e.seqMask-pos&e.seqMask+1) // what is left of the tick's sequence
			// The window covers the tick, even if it has been replaced since; the compare-and-swap
			// says that no other call has the position.
			if d.move(last, pos, n) {
				return e.number(pos, w.worker), n, nil
			}
			continue // another call took positions, so there is progress
		}
		if err := d.stall(ctx, w, wait, err); err != nil {
			return 0, 0, err
		}
	}
}

// move takes n positions from pos on, if last is still the newest one, and counts those it skips.
// jumping goes up before the swap and down after skipped is counted, so issued sees that last and
// skipped do not agree yet.
func (d *Default) move(last int64, pos, n uint64) bool {
	skip := int64(pos) - last - 1
	if skip == 0 {
		return d.last.CompareAndSwap(last, int64(pos+n-1))
	}
	d.jumping.Add(1) // once a tick
	moved := d.last.CompareAndSwap(last, int64(pos+n-1))
	if moved {
		d.skipped.Add(skip)
	}
	d.jumping.Add(-1)
	// The tick's first id is a change of state that the log may wait for; ids within a tick are
	// none.
	if moved {
		d.keeper.resumed()
	}
	return moved
}

// issued returns how many ids were handed out. It looks again while a call is between last and
// skipped, which lasts a few instructions. It loads jumping after both, so a jump that began before
// the loads and is not over is seen.
func (d *Default) issued() int64 {
	for {
		skipped, last := d.skipped.Load(), d.last.Load()
		if d.jumping.Load() == 0 && d.skipped.Load() == skipped {
			if last == closedPosition {
				last = d.final.Load() // after jumping: Close has stored it
			}
			return last + 1 - skipped
		}
		// The other call is between two instructions, unless it was interrupted there.
		runtime.Gosched()
	}
}

// after returns the position that follows last now, or else how long to wait for one, or why there
// is none; with ErrLead the tick that MaxLead forbids, too. The cases, where tick is the clock's,
// or the window's first if that is later:
//
//	no id yet, or the newest is of an earlier tick    tick's start
//	the newest is of tick                             the next sequence number
//	the newest is of a later tick                     what Rollback says
//	the newest has its tick's last sequence number    wait for the next tick, if it is covered
//
// It changes nothing but ahead, and counts nothing: Stats looks, too.
func (d *Default) after(last int64, w *window) (pos uint64, wait time.Duration, err error) {
	now := d.clockTick.load()
	newest := uint64(max(0, last))
	e := d.timeline.of(newest)
	newestTick := newest &^ e.tickMask
	if newestTick > now {
		// The cache may be a millisecond old. Whether the clock went back is judged by a new
		// reading.
		now = d.clockTick.fresh()
	}
	// A claim whose window begins ahead of the clock pulls the clock along.
	tick := max(now, w.from)
	if last < 0 || newestTick < tick {
		pos = d.startAfter(newest, tick, w.worker)
	} else {
		if newestTick > tick && newestTick > d.ahead.Load() {
			if wait, err := d.rollback(newest, now); wait > 0 || err != nil {
				return 0, wait, err
			}
		}
		tick, pos = newestTick, newest+1
		if !e.begun(pos) { // the sequence is used up
			tick = d.timeline.next(newest)
			if now >= w.from {
				// A wait for a tick that the window does not cover ends with an error.
				return 0, d.until(tick), d.timeline.covers(w, tick)
			}
			// The clock is behind the whole window, perhaps by hours: go on with the next tick
			// instead of waiting.
			pos = tick
			// A maximum by compare-and-swap: others may have gone further, and ahead must never go
			// back.
			for a := d.ahead.Load(); a < tick; a = d.ahead.Load() {
				d.ahead.CompareAndSwap(a, tick)
			}
		}
	}
	// tick is the position's tick in every case above, so this covers pos.
	if err := d.timeline.covers(w, tick); err != nil {
		return 0, 0, err
	}
	// A tick of now or before is not ahead of the clock, unless it is an era's first one.
	if d.opts.MaxLead > 0 && (tick > now || tick == d.timeline.of(tick).first) {
		if err := d.leads(tick, d.clock.now()); err != nil {
			return tick, d.untilLead(tick), err
		}
	}
	return pos, 0, nil
}

// until returns how long it takes until a tick begins, a nanosecond at the least, because 0 means
// that there is nothing to wait for.
func (d *Default) until(tick uint64) time.Duration {
	return max(1, d.timeline.time(tick).Sub(d.clock.now()))
}

// startAfter returns the position that tick starts at when the newest id is newest, 0 for none. A
// tick that was left in the second half of its space belongs to a busy service, which gets the next
// one whole; else the start is spread. A spread start lies in the lower half by default, so it
// leaves a tick in the second half only after half of a tick's ids.
func (d *Default) startAfter(newest, tick uint64, worker int64) uint64 {
	seqMask := d.timeline.of(newest).seqMask
	if d.timeline.next(newest) == tick && newest&seqMask > seqMask/2 {
		return tick
	}
	return d.timeline.of(tick).start(tick, worker)
}

// rollback applies Rollback to a clock that is behind the tick of newest, the newest id's
// position; now is the position of the clock's tick. It returns how long to wait, an error, or
// neither when that tick is to be held. A wait is for that tick or, where its sequence is used up,
// for the one after it. It compares instants, as leads does.
func (d *Default) rollback(newest, now uint64) (time.Duration, error) {
	by, r := d.timeline.time(newest).Sub(d.timeline.time(now)), d.opts.rollback
	switch {
	case r.mode == rollbackHold && by < r.bound:
		return 0, nil
	case r.mode == rollbackWait && by <= r.bound:
		if !d.timeline.of(newest).begun(newest + 1) {
			newest = d.timeline.next(newest)
		}
		return d.until(newest), nil
	}
	return 0, &clockBackError{By: by, Bound: r.bound}
}

// stall waits, or fails, as after said: for wait, or for reason. It returns nil if take should try
// again. w is the window that after looked at: where it has been replaced since, or the generator
// closed, the reason is out of date and take looks again at once.
func (d *Default) stall(ctx context.Context, w *window, wait time.Duration, reason error) error {
	// The keeper opens the gate after it has published a window, and Close after it has set closed.
	// So a change that this check misses closes ready.
	ready := d.gate.wait() // before the check of what may have changed, so that no wake-up is lost
	if d.closed.Load() || d.keeper.window.Load() != w {
		return nil
	}
	d.keeper.refused()
	// A step of the clock makes a timer wrong, so none runs for long.
	if wait == 0 || wait > time.Second {
		wait = time.Second
	}
	switch {
	case reason == nil:
		return d.wait(ctx, ready, wait)
	case kindOf(reason) == ErrClockBack:
		d.rejRollback.Add(1)
		return reason
	case reason == errExtending: // even with TakeReject: the answer is a round trip away
		d.keeper.kick()
		return d.wait(ctx, ready, wait)
	}
	return d.refuse(ctx, reason, ready, wait)
}

// Stats returns a snapshot. It takes no lock while the clock is steady. It may look again for as
// long as calls jump to a new tick, a few instructions each.
func (d *Default) Stats() Stats {
	s := d.stats(d.newest())
	s.RejectsRollback = d.rejRollback.Load()
	s.Issued = d.issued()
	return s
}

// Close gives the rest of the claim back and ends the keeper, asking the claim's authority for up
// to five seconds. Callers that wait get ErrClosed, and so does every later call; closing twice
// does nothing and returns the first result.
func (d *Default) Close() error {
	d.closing.Do(func() {
		d.closed.Store(true)
		// From the swap on no id is taken: a compare-and-swap on its way finds another value than
		// it expects. So last is the newest id of all, and its tick's end is where the next owner
		// begins.
		d.jumping.Add(1) // until final is there
		last := d.last.Swap(closedPosition)
		d.final.Store(last)
		d.jumping.Add(-1)
		d.gate.open()
		var used time.Time // nothing was stamped
		if last >= 0 {
			used = d.timeline.time(d.timeline.next(uint64(last)))
		}
		d.closeOf = d.keeper.release(used)
	})
	return d.closeOf
}
