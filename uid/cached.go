package uid

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/ringbuffer"
)

// Cached hands out ids that were composed ahead of demand. It runs one goroutine, the padder, and a second one if its claim
// has to be kept alive; Close ends both.
//
// Next is one atomic add while the caller's lane has a run, which is RunLength-1 times out of RunLength. All methods are
// safe for concurrent use. docs/concurrency.md has every word that goroutines share.
type Cached struct {
	// The fast path reads these, and its lane. Only tenure ever changes, and rarely.
	tenure atomic.Pointer[tenure]
	codec  codec
	plain  bool // one lane, no genes, runs longer than one id: Next needs no look at what is below
	direct bool // runs of one id: the ring is all there is
	*core
	ring     *ringbuffer.Ring
	geneMask int64
	seqShift uint  // GeneBits
	runLen   int64 // RunLength
	seqSpace int64 // MaxSeq+1

	_ cpu.CacheLinePad
	_ cpu.CacheLinePad

	// The composer's. Whoever composes holds mu: the padder, or a caller with policy Pad.
	mu       sync.Mutex   // nothing is waited for while it is held, and no function of the user's runs
	tick     atomic.Int64 // position: tick and sequence number, a multiple of RunLength, of the run that is composed
	seq      atomic.Int64 // next. Written under mu only, read by the keeper and by Stats at any time
	composed *grant       // the grant that the newest run was composed under
	bounded  error        // what stopped the last padding run
	heads    [64]int64    // one batch

	wake    chan struct{} // capacity 1: the padder is to look again
	done    chan struct{} // closed by Close
	wg      sync.WaitGroup
	refused bool // owned by the padder: the put policy complained last time
	closing sync.Once
	closeOf error // of the first Close

	waiting atomic.Int64 // callers between finding no id and trying again
	stale   atomic.Int64 // Stats.RunsStale
	runs    atomic.Int64 // Stats.PadderRuns
	pads    atomic.Int64 // Stats.Pads
	rejPut  atomic.Int64 // Stats.RejectsPut
}

var _ Generator = (*Cached)(nil)

// NewCached claims a worker id from a, composes a ring full of ids and starts the padder. It blocks until the assigner
// answers or ctx ends. Nil options mean the defaults. Errors wrap ErrOptions, bitsalloc.ErrLayout, ErrExhausted or what
// the assigner returned.
func NewCached(ctx context.Context, a assigner.Assigner, o *Options) (*Cached, error) {
	return newCached(ctx, a, o, systemClock())
}

func newCached(ctx context.Context, a assigner.Assigner, o *Options, read func() (time.Time, time.Duration)) (*Cached, error) {
	co, err := newCore(ctx, a, o, read)
	if err != nil {
		return nil, err
	}
	opts, alloc, l := &co.opts, co.alloc, co.opts.Layout
	c := &Cached{
		core:     co,
		codec:    newCodec(l.TimeBits, int(co.timeShift), l.SeqBits, bits.TrailingZeros(uint(opts.RunLength)), l.GeneBits),
		plain:    opts.Lanes == 1 && l.GeneBits == 0 && opts.RunLength > 1,
		direct:   opts.RunLength == 1,
		geneMask: alloc.MaxGene(),
		seqShift: uint(l.GeneBits),
		runLen:   int64(opts.RunLength),
		seqSpace: alloc.MaxSeq() + 1,
		wake:     make(chan struct{}, 1),
		done:     make(chan struct{}),
	}
	c.ring, err = ringbuffer.New(int(opts.slots(alloc)), &ringbuffer.Options{PaddingFactor: opts.PaddingFactor, OnLow: c.kick})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: BoostPower: %w", ErrOptions, err), co.keeper.release(time.Time{}))
	}
	c.begin()
	co.keeper.position = c.tick.Load
	co.keeper.changed = func() { c.gate.open(); c.kick() }
	co.keeper.run()
	c.wg.Go(c.padder)
	return c, nil
}

// Next returns an id. With one lane, ids strictly increase in the order in which calls return before others begin. It
// waits only if no id is ready and the take policy says so, and allocates nothing while it does not wait.
func (c *Cached) Next(ctx context.Context) (ID, error) {
	t := c.tenure.Load()
	l := t.first
	if !c.plain {
		if c.direct || c.geneMask != 0 {
			return c.nextKeyless(ctx)
		}
		l = t.pick()
	}
	if w := l.word.Add(1); c.codec.inside(w) {
		return ID(c.codec.id(t.base, w)), nil
	}
	id, err := c.slow(ctx, l)
	return ID(id), err
}

// NextGene returns an id whose low GeneBits bits are the low bits of key, negative keys included; the routing side
// computes the same with bitsalloc.GeneOf. It costs what Next costs. Ids of different genes never collide.
func (c *Cached) NextGene(ctx context.Context, key int64) (ID, error) {
	if c.geneMask == 0 {
		return 0, ErrNoGene
	}
	id, err := c.nextGene0(ctx)
	if err != nil {
		return 0, err
	}
	return ID(id | key&c.geneMask), nil
}

// nextKeyless is Next for runs of one id and for layouts with genes: an id without a key takes its gene from its own
// sequence number, so that keyless ids spread over the shards.
func (c *Cached) nextKeyless(ctx context.Context) (ID, error) {
	id, err := c.nextGene0(ctx)
	return ID(id | id>>c.seqShift&c.geneMask), err
}

// nextGene0 takes an id with gene 0.
func (c *Cached) nextGene0(ctx context.Context) (int64, error) {
	t := c.tenure.Load()
	l := t.first
	if len(t.lanes) > 1 {
		l = t.pick()
	}
	if !c.direct {
		if w := l.word.Add(1); c.codec.inside(w) {
			return c.codec.geneID(t.base, w), nil
		}
	}
	return c.slow(ctx, l)
}

// slow is for a caller whose lane was used up: it gives the lane a run, or takes from one that another caller gave it, as
// often as it takes. l is the lane that the caller added to in vain.
func (c *Cached) slow(ctx context.Context, l *lane) (int64, error) {
	for {
		if id, ok := c.refill(l); ok {
			return id, nil
		}
		t := c.tenure.Load()
		if l = t.first; len(t.lanes) > 1 {
			l = t.pick()
		}
		if !c.direct {
			if w, got := l.takeN(&c.codec, 1); got > 0 {
				return c.codec.geneID(t.base, w), nil
			}
		}
		if err := c.starve(ctx); err != nil {
			return 0, err
		}
	}
}

// refill takes a run from the ring for a used-up lane and returns the run's first id, which is the caller's. It returns false
// when the ring is empty, the lane is sealed or the generator closed, and when another caller was faster.
func (c *Cached) refill(l *lane) (int64, bool) {
	if c.direct {
		// A run of one id has no rest that a lane could hold; the ring's cursor decides the order.
		if c.closed.Load() {
			return 0, false
		}
		return c.ring.TryTake()
	}
	// Without the lock two callers would take two runs and begin one: ids would be lost or out of order.
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.idle(&c.codec) || l.sealed {
		return 0, false
	}
	head, ok := c.ring.TryTake()
	if !ok {
		return 0, false
	}
	first := c.wordOf(head) + uint64(l.skip)
	head += l.skip << c.seqShift
	l.skip = 0
	l.word.Store(first) // publishes the ids behind the first, which is ours
	return head, true
}

// wordOf returns the word of an id with gene 0 that was taken from the ring under the mu of a lane that is not sealed: the
// tenure cannot change in between, and the ring holds its runs only.
func (c *Cached) wordOf(id int64) uint64 {
	tick, _, seq, _ := c.alloc.Split(id)
	return c.codec.word(tick-c.tenure.Load().tick0, seq)
}

// starve is called when there was nothing to take: it applies the take policy and returns nil if another try is worthwhile.
func (c *Cached) starve(ctx context.Context) error {
	if c.closed.Load() {
		return ErrClosed
	}
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	ready := c.gate.wait() // before the look at the ring, so that no wake-up is lost
	if c.closed.Load() {
		return nil
	}
	if c.ring.Len() > 0 {
		// Another caller was faster, or the lanes are sealed because a new tenure is about to begin: whoever seals them
		// holds mu, so there is no need to come back before.
		c.mu.Lock()
		defer c.mu.Unlock()
		return nil
	}
	var reason error
	if c.opts.TakeFunc == nil && c.opts.TakePolicy == Pad {
		if reason = c.pad(); reason == nil {
			return nil
		}
	} else {
		reason = c.reason()
	}
	c.kick()
	return c.refuse(ctx, reason, ready, 0)
}

// reason says why the ring is empty: the bound that keeps the padder from filling it, or ErrEmpty if it only has to run.
func (c *Cached) reason() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.bound(c.keeper.grant.Load(), c.leadTicks()); err != nil {
		return err
	}
	return ErrEmpty
}

// kick asks the padder to look at the ring and the clock. It never blocks.
func (c *Cached) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Stats returns a snapshot.
func (c *Cached) Stats() Stats {
	s := c.stats(c.tick.Load())
	s.Tail, s.Cursor = c.ring.Tail(), c.ring.Cursor()
	next := c.tick.Load()*c.seqSpace + c.seq.Load() - int64(c.ring.Len())*c.runLen // of the ring's oldest run
	s.Lead = max(0, c.alloc.TimeAt(next/c.seqSpace).Sub(c.clock.now()))
	s.Len, s.Cap = int64(c.ring.Len())*c.runLen, int64(c.ring.Cap())*c.runLen
	s.RunLength, s.Lanes = int(c.runLen), c.opts.Lanes
	s.RunsStale = c.stale.Load()
	s.RunsTaken = max(0, s.Cursor+1-s.RunsStale)
	s.PadderRuns, s.Pads, s.RejectsPut = c.runs.Load(), c.pads.Load(), c.rejPut.Load()
	s.Lag = c.lag()
	return s
}

// lag returns how far the oldest id in the lanes is behind the clock.
func (c *Cached) lag() time.Duration {
	now, lag, t := c.clock.now(), time.Duration(0), c.tenure.Load()
	for i := range t.lanes {
		if w := t.lanes[i].word.Load(); c.codec.left(w) > 0 {
			lag = max(lag, now.Sub(c.alloc.TimeAt(t.tick0+c.codec.tick(w))))
		}
	}
	return lag
}

// Close stops the padder, takes the ids away that were not handed out, gives the rest of the claim back and waits for the
// generator's goroutines. It asks the claim's authority for up to five seconds. Callers that wait get ErrClosed, and so does
// every call that begins when Close has returned; while it runs, a call may still get an id. Closing twice does nothing
// and returns the first result.
func (c *Cached) Close() error {
	c.closing.Do(func() {
		c.closed.Store(true)
		close(c.done)
		c.wg.Wait()
		used := c.drain()
		c.gate.open()
		c.closeOf = c.keeper.release(used)
	})
	return c.closeOf
}

// drain empties the lanes and the ring and returns the end of the last tick that an id may have been handed out of.
func (c *Cached) drain() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tenure.Load().seal(&c.codec)
	tick, seq := c.tick.Load(), c.seq.Load()
	head, ok := c.ring.TryTake()
	if ok && !c.direct {
		// With all lanes sealed nobody else takes: everything from the oldest run on is still here. Runs of one id are
		// taken without a lane, so that a late taker may get one of these yet, and the position is the only bound.
		tick, _, seq, _ = c.alloc.Split(head)
	}
	for ok {
		_, ok = c.ring.TryTake()
	}
	if seq > 0 {
		tick++
	}
	return c.alloc.TimeAt(tick)
}
