package uid

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// ErrTickFull means that Backfill has made all ids of a tick, and Spill is off. It is permanent for
// the tick: no later call with an instant in it succeeds.
var ErrTickFull = errors.New("uid: the tick has no id left")

// BackfillOptions configures NewBackfill. nil and zero fields mean the defaults.
type BackfillOptions struct {
	// Layout and Eras are those of the generators that make ids for the same column.
	Layout bitsalloc.Layout
	Eras   []bitsalloc.Era

	// Spill takes the next tick that has an id left, where a tick has none. Default: ErrTickFull.
	Spill bool

	_ struct{} // keeps literals keyed
}

// Backfill makes ids for rows that exist already: an id's time is the row's own. It uses a worker
// id that nobody used before, so its ids equal no other, whatever the rows' times are. No clock
// takes part. Its methods are safe for concurrent use. It starts no goroutine.
//
// A run that breaks off is resumed by another Backfill, which has another worker id, for the rows
// that have no id yet.
//
//	b, err := uid.NewBackfill(ctx, workernode.Disposable(db, nil), nil)
//	...
//	for each row without an id:
//		id, err := b.At(ctx, row.CreatedAt)
//
// It keeps one map entry for each tick that it made ids for, so its memory grows with the number of
// ticks that have rows, not with the number of rows.
//
// Why no id comes twice: within a tick next only grows, a tick's positions stay inside it, and no
// other claim, before or after, has the worker id at any time. That last point is why the window
// has to be all of time: Backfill stamps the past, which a lease's window does not reach.
type Backfill struct {
	timeline *timeline
	eras     *bitsalloc.Eras
	claim    assigner.Claim
	worker   int64 // the claim's
	spill    bool

	mu   sync.Mutex        // the claim is not called while it is held
	next map[uint64]uint64 // guarded by mu: from a tick's first position to its next id's
	done bool              // guarded by mu: Close was called
}

// NewBackfill claims a worker id from a, which never gives one out twice, such as
// workernode.Disposable where no generator of the column has a Namespace of its own. A claim whose
// window is not all of time is refused: another owner may have stamped ids before it. It blocks
// until the assigner answers or ctx ends. Errors wrap ErrOptions or what the assigner returned.
func NewBackfill(ctx context.Context, a assigner.Assigner, o *BackfillOptions) (*Backfill, error) {
	var opts BackfillOptions
	if o != nil {
		opts = *o
	}
	eras, err := bitsalloc.NewEras(opts.Layout, opts.Eras...)
	if err != nil {
		return nil, fmt.Errorf("%w: Layout: %w", ErrOptions, err)
	}
	if a == nil {
		return nil, fmt.Errorf("%w: the assigner is nil", ErrOptions)
	}
	if b, ok := a.(assigner.LayoutBinder); ok {
		a = b.BindLayout(eras.String())
	}
	// 0 for SeqStart: a generator's default, so that backfilled ids spread as new ones do.
	b := &Backfill{timeline: newTimeline(eras, 0), eras: eras, spill: opts.Spill,
		next: map[uint64]uint64{}}
	if b.claim, err = a.Assign(ctx, b.timeline.maxWorker); err != nil {
		return nil, fmt.Errorf("uid: assigning a worker id: %w", err)
	}
	b.worker = b.claim.Worker()
	_, err = newWindow(b.timeline, b.claim) // checks the worker id
	if from, until := b.claim.Window(); err == nil && !(from.IsZero() && until.IsZero()) {
		err = fmt.Errorf("%w: the claim's window is [%v, %v), want all of time, "+
			"as workernode.Disposable claims it", ErrOptions, from, until)
	}
	if err != nil {
		return nil, errors.Join(err, b.claim.Release(ctx, time.Time{}))
	}
	return b, nil
}

// At returns an id whose time is t, to the tick. The ids of one tick rise in the order of the
// calls. At least half of a tick's sequence is there; then the call fails with ErrTickFull, or
// takes a later tick if Spill is on. An instant before the epoch is an error that wraps
// bitsalloc.ErrRange, one that the time bits do not hold one that wraps ErrExhausted, and a ctx
// that has ended one that wraps its error. With GeneBits an id takes its gene from its own sequence
// number.
//
// At waits for nothing but concurrent calls of At, which are short. It allocates for the entry of a
// tick that it had no id of. With Spill it walks from full tick to full tick, so a long stretch of
// full ticks takes time.
func (b *Backfill) At(ctx context.Context, t time.Time) (ID, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("uid: no id: %w", err)
	}
	l := b.timeline
	if epoch := l.eras[0].alloc.Layout().Epoch; t.Before(epoch) {
		return 0, fmt.Errorf("%w: the time is %v, want one from the epoch on, %v",
			bitsalloc.ErrRange, t, epoch)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return 0, ErrClosed
	}
	// A tick's ids rise from a hashed start in its lower half to its last sequence number, as a
	// generator's do: at least half of the tick, and the same spread over shards.
	for tick := l.at(t); tick < l.end(); tick = l.next(tick) {
		e := l.of(tick)
		// A tick is written as its first position, so the key is unique over all eras.
		pos, met := b.next[tick]
		if !met {
			pos = e.start(tick, b.worker)
		}
		if pos <= tick|e.seqMask {
			b.next[tick] = pos + 1
			return l.keyless(e.number(pos, b.worker)), nil
		}
		if !b.spill {
			return 0, fmt.Errorf("%w: the one of %v", ErrTickFull, t)
		}
	}
	return 0, l.exhausted()
}

// Parse takes an id of the layout apart, as Generator.Parse does. It works after Close too.
func (b *Backfill) Parse(id ID) Parts { return ParseParts(b.eras.Of(int64(id)), id) }

// Close ends the use of the worker id, which no other process ever gets. Calls of At fail with
// ErrClosed from then on. It asks the claim's authority for up to five seconds, which no call of At
// waits for. An error says that the authority was not told; the use has ended all the same. Closing
// twice does nothing: a second call returns nil at once, also while the first one is at work.
func (b *Backfill) Close() error {
	b.mu.Lock()
	closed := b.done
	b.done, b.next = true, nil
	b.mu.Unlock()
	if closed {
		return nil
	}
	// No call of At makes an id from here on.
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	end := b.timeline.time(b.timeline.end() - 1)
	err := new(calls).ask(ctx, "Release", func() error { return b.claim.Release(ctx, end) })
	if err != nil {
		return fmt.Errorf("uid: giving the worker id back: %w", err)
	}
	return nil
}
