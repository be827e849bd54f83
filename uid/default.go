package uid

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/assigner"
)

// Default asks the clock for every id, as the snowflake family does. It never runs ahead of the clock, so it cannot make
// more than MaxSeq+1 ids a tick: a caller who wants one more waits, on a timer, for the next tick. It starts a
// goroutine only if its claim has to be kept alive; Close ends it. All methods are safe for concurrent use.
type Default struct {
	*core
	seqBits  uint
	seqMask  int64
	seqShift uint
	geneMask int64

	_ cpu.CacheLinePad
	_ cpu.CacheLinePad

	// last is the position, tick<<SeqBits | seq, of the newest id; closedPosition after Close. It only grows: every id is the
	// compare-and-swap that moved it there, so no (tick, seq) is composed twice, whatever the clock does.
	last atomic.Int64

	_ cpu.CacheLinePad
	_ cpu.CacheLinePad

	ahead       atomic.Int64 // highest tick taken ahead of the clock because the claim's window begins there
	rejRollback atomic.Int64 // Stats.RejectsRollback
	closing     sync.Once
	closeOf     error // of the first Close
}

// closedPosition is what last holds after Close. No compare-and-swap expects it.
const closedPosition = -1 << 63

var _ Generator = (*Default)(nil)

// NewDefault claims a worker id from a. It blocks until the assigner answers or ctx ends. Nil options mean the defaults.
// Errors wrap ErrOptions, bitsalloc.ErrLayout, ErrExhausted or what the assigner returned.
func NewDefault(ctx context.Context, a assigner.Assigner, o *Options) (*Default, error) {
	return newDefault(ctx, a, o, systemClock())
}

func newDefault(ctx context.Context, a assigner.Assigner, o *Options, read func() (time.Time, time.Duration)) (*Default, error) {
	co, err := newCore(ctx, a, o, read)
	if err != nil {
		return nil, err
	}
	l := co.opts.Layout
	d := &Default{core: co, seqBits: uint(l.SeqBits), seqMask: co.alloc.MaxSeq(), seqShift: uint(l.GeneBits), geneMask: co.alloc.MaxGene()}
	// Behind the last position of the tick before the present: whatever comes first jumps to the present.
	d.last.Store(d.nowTick(co.keeper.grant.Load())<<d.seqBits - 1)
	co.keeper.position = func() int64 { return max(0, d.last.Load()>>d.seqBits) }
	co.keeper.changed = co.gate.open
	co.keeper.run()
	return d, nil
}

// Next returns an id. Ids strictly increase in the order in which calls return before others begin, unless a lost claim
// was replaced within a tick. It waits, until ctx ends, when the tick's sequence is used up.
func (d *Default) Next(ctx context.Context) (ID, error) {
	id, _, err := d.claim(ctx, 1)
	return d.keyless(id), err
}

// NextGene returns an id whose low GeneBits bits are the low bits of key, negative keys included.
func (d *Default) NextGene(ctx context.Context, key int64) (ID, error) {
	if d.geneMask == 0 {
		return 0, ErrNoGene
	}
	id, _, err := d.claim(ctx, 1)
	if err != nil {
		return 0, err
	}
	return id | ID(key&d.geneMask), nil
}

// Fill sets every element of ids, in increasing order; what is left of a tick's sequence is claimed at once.
func (d *Default) Fill(ctx context.Context, ids []ID) (int, error) {
	n, err := d.fill(ctx, ids)
	for i := range ids[:n] {
		ids[i] = d.keyless(ids[i])
	}
	return n, err
}

// FillGene is Fill for a Layout with GeneBits: every id carries the gene of key.
func (d *Default) FillGene(ctx context.Context, key int64, ids []ID) (int, error) {
	if d.geneMask == 0 {
		return 0, ErrNoGene
	}
	n, err := d.fill(ctx, ids)
	for i := range ids[:n] {
		ids[i] |= ID(key & d.geneMask)
	}
	return n, err
}

// fill sets ids to ids with gene 0.
func (d *Default) fill(ctx context.Context, ids []ID) (n int, err error) {
	for n < len(ids) {
		first, got, err := d.claim(ctx, int64(len(ids)-n))
		if err != nil {
			return n, err
		}
		count(ids[n:n+int(got)], int64(first), d.seqShift)
		n += int(got)
	}
	return n, nil
}

// keyless gives an id without a key a gene from its own sequence number, so that such ids spread over the shards.
func (d *Default) keyless(id ID) ID { return id | id>>d.seqShift&ID(d.geneMask) }

// claim takes up to want consecutive positions, at least one, and returns the first one's id and their number.
func (d *Default) claim(ctx context.Context, want int64) (ID, int64, error) {
	for {
		last := d.last.Load()
		if last == closedPosition {
			return 0, 0, ErrClosed
		}
		g := d.keeper.grant.Load()
		next, wait, err := d.after(last, g)
		if err == nil && wait == 0 {
			n := min(want, d.seqMask-next&d.seqMask+1)
			// The grant covers next's tick, whoever replaced it in the meantime; last says that nobody else has next.
			if d.last.CompareAndSwap(last, next+n-1) {
				return ID(next>>d.seqBits<<d.timeShift | g.base | next&d.seqMask<<d.seqShift), n, nil
			}
			continue
		}
		if err := d.stall(ctx, g, wait, err); err != nil {
			return 0, 0, err
		}
	}
}

// after returns the position that follows last at present, or else how long to wait for one, or why there is none.
func (d *Default) after(last int64, g *grant) (next int64, wait time.Duration, err error) {
	now := d.clock.now()
	clock := d.alloc.TickAt(now)
	present := max(clock, g.from) // a claim whose window begins ahead of the clock pulls the present along
	tick, seq := last>>d.seqBits, last&d.seqMask
	switch {
	case tick < present:
		tick, seq = present, d.startAfter(tick, seq, present, g.worker)
	case tick > present && tick > d.ahead.Load():
		if wait, err := d.rollback(now, tick-clock); wait > 0 || err != nil {
			return 0, wait, err
		}
		seq++
	default:
		seq++
	}
	if seq > d.seqMask {
		if clock >= g.from {
			return 0, max(1, d.alloc.TimeAt(tick+1).Sub(now)), nil
		}
		// The clock is behind the whole window, perhaps by hours: the next tick is as good as this one.
		tick, seq = tick+1, 0
		d.ahead.Store(tick) // racing stores of neighbouring ticks only make a rollback look smaller or larger by one
	}
	if err := g.permits(d.alloc, tick); err != nil {
		return 0, 0, err
	}
	if lead := d.leadTicks(); tick > lead {
		return 0, time.Duration(tick-lead) * d.opts.Layout.Tick, ErrLead
	}
	return tick<<d.seqBits | seq, 0, nil
}

// startAfter returns the sequence number that tick starts at when the newest id has (last, seq). A tick that was left in the
// second half of its space belongs to a busy service, which gets the next one whole; else the start is spread.
func (d *Default) startAfter(last, seq, tick, worker int64) int64 {
	if last+1 == tick && seq > d.seqMask/2 {
		return 0
	}
	return d.startSeq(tick, worker)
}

// rollback decides on a clock that is the given number of ticks behind the newest id: how long to wait, an error, or neither
// when the id's tick is to be held.
func (d *Default) rollback(now time.Time, ticks int64) (time.Duration, error) {
	by, r := time.Duration(ticks)*d.opts.Layout.Tick, d.opts.Rollback
	switch {
	case r.mode == rollbackHold && by < r.bound:
		return 0, nil
	case r.mode == rollbackWait && by <= r.bound:
		return max(1, d.alloc.TimeAt(d.alloc.TickAt(now)+ticks).Sub(now)), nil
	}
	d.rejRollback.Add(1)
	return 0, &ClockBackError{By: by, Bound: r.bound}
}

// stall waits for what after found missing and returns nil if another try is worthwhile.
func (d *Default) stall(ctx context.Context, g *grant, wait time.Duration, reason error) error {
	ready := d.gate.wait() // before the look at what may have changed, so that no wake-up is lost
	if d.closed.Load() || d.keeper.grant.Load() != g {
		return nil
	}
	// A step of the clock makes a timer wrong, so none runs for long.
	wait = min(wait, time.Second)
	switch {
	case reason == nil:
		return d.wait(ctx, ready, wait)
	case errors.Is(reason, ErrClockBack):
		return reason
	case reason == errExtending, errors.Is(reason, ErrClaimExpired):
		d.keeper.kick()
	}
	return d.refuse(ctx, reason, ready, wait)
}

// Stats returns a snapshot.
func (d *Default) Stats() Stats {
	s := d.stats(max(0, d.last.Load()>>d.seqBits))
	s.RejectsRollback = d.rejRollback.Load()
	return s
}

// Close gives the rest of the claim back and ends the keeper, asking the claim's authority for up to five seconds. Callers
// that wait get ErrClosed, and so does every later call; closing twice does nothing and returns the first result.
func (d *Default) Close() error {
	d.closing.Do(func() {
		d.closed.Store(true)
		// The swap ends all claims: a compare-and-swap on its way finds another value than it expects.
		last := d.last.Swap(closedPosition)
		d.gate.open()
		d.closeOf = d.keeper.release(d.alloc.TimeAt(last>>d.seqBits + 1))
	})
	return d.closeOf
}
