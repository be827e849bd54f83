package uid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/assigner"
)

// Cached hands out ids that were composed ahead of demand. It runs a goroutine, the padder, and
// another one if its claim has to be kept alive. A PutFunc, a question to the claim's authority and
// log lines run on goroutines of their own. Close ends all of them.
//
// Next is one atomic add while the caller's lane has a run, which is RunLength-1 times out of
// RunLength. All methods are safe for concurrent use. docs/concurrency.md has every word that
// goroutines share.
//
//	clock ──► composer ──► ring of run heads ──► lane 0 ──► Next, Fill
//	claim ──►  (padder,    [ run ][ run ][ run ] lane 1 ──► Next, Fill
//	            or caller)                       ...
//
// A call that finds its lane used up refills it from the ring. A call that finds the ring empty
// composes, or waits, or fails, as the take policy says.
//
// What each part owns, and where the argument for it is:
//
//	lane       which caller gets a number           lane.go
//	ring       which lane gets a run                package ringbuffer
//	composer   which runs there are: the position   composer.go
//	keeper     which worker id and window           keeper.go
//	clock      what time it is                      clock.go
//
// A process that dies loses what lanes and ring hold, and the rest of its window.
type Cached struct {
	// The fast path reads these, and its lane. None of them changes after newCached, but the seats'
	// table, so their cache lines stay in every processor's cache.
	first *lane // of lanes
	seats seats
	genes bool // the layout has gene bits
	*core
	composer *composer
	lanes    []lane
	pads     bool // the take policy is TakePad: callers compose

	// Two lines, because processors fetch lines in pairs: what follows is written now and then, and
	// must not take the line above from the callers.
	_, _ cpu.CacheLinePad

	wake    chan struct{}  // capacity 1: the padder is to look again
	stop    func()         // ends the padder; may be called twice
	wg      sync.WaitGroup // the padder, and a PutFunc that runs
	closing sync.Once
	closeOf error // of the first Close; written under closing, read after it

	// Written by the padder and by callers that compose, never by the fast path.
	putting    atomic.Bool  // a PutFunc runs
	putRefused atomic.Bool  // the put policy refused the last padding run
	runs       atomic.Int64 // Stats.PadderRuns
	padded     atomic.Int64 // Stats.Pads
	rejPut     atomic.Int64 // Stats.RejectsPut

	// Owned by the padder.
	unkept     int  // how often in a row runs grew too old before the ring was full
	unkeptSaid bool // the log says that the ring cannot be kept full
}

var _ Generator = (*Cached)(nil)

// NewCached claims a worker id from a, composes a ring full of ids and starts the padder. It blocks
// until the assigner answers and the ring is full, or ctx ends; ctx means nothing to the generator
// afterwards. Nil options mean the defaults. The ring takes 72 bytes a slot where a cache line has
// 64 bytes, and has 32 slots with the default options. It is full when NewCached returns, unless a
// bound forbids that yet, MaxLead or the window's end, or runs grow older than MaxLag meanwhile.
// Errors wrap ErrOptions, bitsalloc.ErrLayout, ErrExhausted, ctx's error or what the assigner
// returned; a claim that was made is released then.
func NewCached(ctx context.Context, a assigner.Assigner, o *Options) (*Cached, error) {
	return newCached(ctx, a, o, o.clocks())
}

// newCached makes what NewCached returns. read reads the clocks. The order matters: the claim, the
// composer, which needs the claim's window, the keeper, which needs the composer's front, and the
// padder last. Nothing before the keeper starts a goroutine, so an error leaves none behind.
func newCached(ctx context.Context, a assigner.Assigner, o *Options,
	read readClocks) (*Cached, error) {
	co, err := newCore(ctx, a, o, read)
	if err != nil {
		return nil, err
	}
	made := false
	defer co.keeper.abandon(&made)
	co.reportJump()
	lanes := newLanes(co.opts.Lanes)
	c := &Cached{
		core:     co,
		composer: newComposer(co, lanes),
		lanes:    lanes,
		first:    &lanes[0],
		seats:    newSeats(lanes),
		genes:    co.timeline.geneMask != 0,
		pads:     co.opts.TakeFunc == nil && co.opts.TakePolicy == TakePad,
		wake:     make(chan struct{}, 1),
	}
	// A bound that keeps the ring from being filled is no error: the first caller that meets it
	// reports it, or waits.
	_, _ = c.composer.fillWhile(func() bool { return ctx.Err() == nil })
	if err := ctx.Err(); err != nil {
		made = true // and given back
		err = fmt.Errorf("uid: filling the ring: %w", err)
		return nil, errors.Join(err, co.keeper.release(time.Time{}))
	}
	// The keeper calls them from its goroutine, so they are set before it runs. A changed claim may
	// permit ids that callers wait for (the gate), and ids that the padder alone composes (the
	// kick).
	co.keeper.front = c.composer.front
	co.keeper.changed = func() { c.gate.open(); c.kick() }
	co.keeper.blocked = c.blocked
	co.keeper.run()
	done := make(chan struct{})
	c.stop = sync.OnceFunc(func() { close(done) })
	c.wg.Go(func() { c.padder(done) })
	made = true
	return c, nil
}

// Next returns an id. With one lane, a call that starts after another has returned gets a higher
// id. It waits only if no id is ready and the take policy says so, and allocates nothing while it
// does not wait.
//
// It fails with ErrClosed after Close, ErrExhausted at the end of the time bits, ErrClaimExpired,
// assigner.ErrClaimLost or assigner.ErrSuperseded at the end of a window that cannot be extended,
// ErrLead or ErrEmpty with TakeReject, the error of a TakeFunc, and, if ctx ends while it waits, an
// error that wraps ctx's.
func (c *Cached) Next(ctx context.Context) (ID, error) {
	l, seat := c.first, uint64(0)
	if c.seats.mask != 0 {
		seat = c.seats.of(uintptr(unsafe.Pointer(&ctx))) // the address is a number only
		l = c.seats.lane(seat)
	}
	end := l.end.Load() // before the add: point 3 of lane
	if n, ok := l.take(end); ok {
		if !c.genes {
			return ID(n), nil
		}
		return c.timeline.keyless(n), nil
	}
	return c.slow(ctx, seat)
}

// slow is Next for a caller that found its lane used up. It is a Fill of one id, so that there is
// one slow path, and out of line, so that Next stays small. fill returns ids with gene 0, hence the
// shift. The failed add has left a trace in the lane that means nothing: see point 4 of lane.
func (c *Cached) slow(ctx context.Context, seat uint64) (ID, error) {
	var one [1]ID
	_, err := c.fill(ctx, seat, one[:])
	return c.timeline.keyless(uint64(one[0]) >> c.timeline.geneBits), err
}

// NextGene returns an id whose low GeneBits bits are the low bits of key, negative keys included;
// the routing side computes the same with bitsalloc.GeneOf. It costs what Next costs and fails as
// Next does, and with ErrNoGene on a layout without GeneBits. Ids of different genes never collide,
// because the rest of an id is unique already.
func (c *Cached) NextGene(ctx context.Context, key int64) (ID, error) {
	if c.timeline.geneMask == 0 {
		return 0, ErrNoGene
	}
	id, err := c.Next(ctx)
	if err != nil {
		return 0, err
	}
	return id&^ID(c.timeline.geneMask) | ID(key)&ID(c.timeline.geneMask), nil
}

// waitForRun is for a caller that found its lane used up and the ring empty. With TakePad it
// composes a batch, and returns no reason: the caller looks again. Where nothing can be composed,
// it returns the reason and ready, a channel that is closed once that may have changed. It does not
// wait itself.
//
// The caller looks at lane and ring once more before it believes the reason: between its check and
// this call others may have composed, up to the bound that is the reason.
func (c *Cached) waitForRun() (ready <-chan struct{}, reason error) {
	if c.pads {
		if n, _ := c.composer.fill(); n > 0 { // 0: a bound, or others have filled the ring
			c.padded.Add(1)
			return nil, nil
		}
	}
	ready = c.gate.wait() // before the bound is checked, so that no wake-up is lost
	if reason = c.composer.bound(); reason == nil && !c.pads {
		reason = ErrEmpty
	}
	return ready, reason
}

// kick asks the padder to look at the ring and the clock. It never blocks: a token that is in the
// channel already makes the padder look after this call, too. One token is enough for any number of
// kicks, because a turn of the padder checks everything.
func (c *Cached) kick() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Stats returns a snapshot. It locks each lane for a few loads, one after the other, which a caller
// notices only if it refills that lane just then. It takes no lock of composer or ring. It takes
// time in proportion to the lanes.
//
// The ring's oldest run is read before the lanes, so that a run which moves from ring to lane
// meanwhile is not missed.
func (c *Cached) Stats() Stats {
	p := c.composer
	inRing := p.oldest()
	oldest, inLanes := c.inLanes(inRing)
	left := inLanes || p.ring.Len() > 0
	s := c.stats(p.pos.Load())
	now := c.clock.now()
	// What was handed out lies below the ring's oldest run, or the position.
	s.Lead = max(0, c.timeline.time(c.timeline.before(inRing)).Sub(now))
	if left {
		s.Lag = max(0, now.Sub(c.timeline.time(oldest)))
	}
	s.Tail, s.Cursor = p.ring.Tail(), p.ring.Cursor()
	s.Len, s.Cap = p.ids(p.ring.Len()), p.ids(p.ring.Cap())
	s.RunLength, s.Lanes = int(p.runLen), c.opts.Lanes
	s.RunsStale = p.stale.Load()
	for i := range c.lanes {
		runs, n := c.lanes[i].issued()
		s.RunsTaken += runs
		s.Issued += int64(n)
	}
	s.PadderRuns, s.Pads, s.RejectsPut = c.runs.Load(), c.padded.Load(), c.rejPut.Load()
	return s
}

// inLanes returns the lowest number in the lanes, or oldest if that is lower, and whether the lanes
// hold any. It takes no lock, so a lane that is refilled meanwhile may show either run.
func (c *Cached) inLanes(oldest uint64) (lowest uint64, held bool) {
	for i := range c.lanes {
		l := &c.lanes[i]
		end := l.end.Load() // before next, as a caller loads them: point 3 of lane
		if next := l.next.Load(); next < end {
			oldest = min(oldest, next)
			held = true
		}
	}
	return oldest, held
}

// Close stops the padder, takes the ids away that were not handed out, gives the rest of the claim
// back and waits for the generator's goroutines. It asks the claim's authority for up to five
// seconds. Callers that wait get ErrClosed, and so does every call that begins when Close has
// returned; while it runs, a call may still get an id. Closing twice does nothing and returns the
// first result.
func (c *Cached) Close() error {
	// The order matters. closed ends composing, so nothing refills what is drained. The gate opens
	// after that, so that the callers it wakes see closed. The goroutines end before the drain,
	// because the padder composes and a PutFunc may take ids. Only then it is known up to which
	// tick ids were handed out, which is what the claim's release needs.
	c.closing.Do(func() {
		c.closed.Store(true)
		c.stop()
		c.gate.open() // for callers that wait, a PutFunc and a log handler among them
		c.wg.Wait()
		used := c.composer.drain()
		c.closeOf = c.keeper.release(used)
	})
	return c.closeOf
}
