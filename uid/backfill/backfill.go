// Package backfill makes ids for rows that exist already: an id's time is the row's own.
//
//	b, err := backfill.New(ctx, workernode.Disposable(db, nil), nil)
//	...
//	for each row without an id:
//		id, err := b.At(ctx, row.CreatedAt)
package backfill

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// ErrTickFull means that a Generator has made all ids of a tick, and Spill is off. It is permanent
// for the tick: no later call with an instant in it succeeds.
var ErrTickFull = errors.New("backfill: the tick has no id left")

// Options configures New. nil and zero fields mean the defaults.
type Options struct {
	// Layout and Eras are those of the generators that make ids for the same column.
	Layout bitsalloc.Layout
	Eras   []bitsalloc.Era

	// Spill takes the next tick that has an id left, where a tick has none. Default: ErrTickFull.
	Spill bool

	_ struct{} // keeps literals keyed
}

// Generator makes ids of given times. It uses a worker id that nobody used before, so its ids equal
// no other, whatever the rows' times are. No clock takes part. Its methods are safe for concurrent
// use. It starts no goroutine but the one in which Close calls the claim's authority.
//
// A run that breaks off is resumed by another Generator, which has another worker id, for the rows
// that have no id yet.
//
// It keeps one map entry for each tick that it made ids for, so its memory grows with the number of
// ticks that have rows, not with the number of rows.
//
// Why no id is made twice: within a tick next only grows up to the last sequence number, and no
// other claim, before or after, has the worker id at any time. That last point is why the window
// has to be all of time: a Generator stamps the past, which a lease's window does not reach.
type Generator struct {
	eras   *bitsalloc.Eras
	claim  assigner.Claim
	worker int64 // the claim's
	spill  bool

	mu   sync.Mutex      // the claim is not called while it is held
	next map[int64]int64 // guarded by mu: the next sequence number of a tick, by its lowest id
	done bool            // guarded by mu: Close was called
}

// New claims a worker id from a, which never gives one out twice, such as workernode.Disposable
// where no generator of the column has a Namespace of its own. A claim whose window is not all of
// time is refused: another owner may have stamped ids before it. New blocks until the assigner
// answers or ctx ends. Errors wrap uid.ErrOptions or what the assigner returned.
func New(ctx context.Context, a assigner.Assigner, o *Options) (*Generator, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	eras, err := bitsalloc.NewEras(opts.Layout, opts.Eras...)
	if err != nil {
		return nil, fmt.Errorf("%w: Layout: %w", uid.ErrOptions, err)
	}
	if a == nil {
		return nil, fmt.Errorf("%w: the assigner is nil", uid.ErrOptions)
	}
	if b, ok := a.(assigner.LayoutBinder); ok {
		a = b.BindLayout(eras.String())
	}
	most := eras.All()[0].MaxWorker()
	for _, era := range eras.All() {
		most = min(most, era.MaxWorker())
	}
	claim, err := a.Assign(ctx, most)
	if err != nil {
		return nil, fmt.Errorf("backfill: assigning a worker id: %w", err)
	}
	worker := claim.Worker()
	if worker < 0 || worker > most {
		err = fmt.Errorf("%w: the assigner's worker id is %d, want 0..%d",
			bitsalloc.ErrRange, worker, most)
	} else if from, until := claim.Window(); !from.IsZero() || !until.IsZero() {
		err = fmt.Errorf("%w: the claim's window is [%v, %v), want all of time, "+
			"as workernode.Disposable claims it", uid.ErrOptions, from, until)
	}
	if err != nil {
		return nil, errors.Join(err, claim.Release(ctx, time.Time{}))
	}
	return &Generator{eras: eras, claim: claim, worker: worker, spill: opts.Spill,
		next: map[int64]int64{}}, nil
}

// At returns an id whose time is t, to the tick. The ids of one tick rise in the order of the
// calls. At least half of a tick's sequence is there; then the call fails with ErrTickFull, or
// takes a later tick if Spill is on. An instant before the epoch is an error that wraps
// bitsalloc.ErrRange, one that the time bits do not hold one that wraps uid.ErrExhausted, and a ctx
// that has ended one that wraps its error. After Close At fails with uid.ErrClosed. With GeneBits
// an id takes its gene from its own sequence number.
//
// At waits for nothing but concurrent calls of At, which are short. It allocates for the entry of a
// tick that it had no id of. With Spill it walks from full tick to full tick, so a long stretch of
// full ticks takes time.
func (g *Generator) At(ctx context.Context, t time.Time) (uid.ID, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("backfill: no id: %w", err)
	}
	all := g.eras.All()
	if epoch := all[0].Layout().Epoch; t.Before(epoch) {
		return 0, fmt.Errorf("%w: the time is %v, want one from the epoch on, %v",
			bitsalloc.ErrRange, t, epoch)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.done {
		return 0, uid.ErrClosed
	}
	for at, last := t, all[len(all)-1]; at.Before(last.Expires()); {
		// The lowest id of a tick is the tick's name over all eras.
		first, _ := g.eras.Between(at, at.Add(1))
		era := g.eras.Of(first)
		tick, _, _, _ := era.Split(first)
		seq, met := g.next[first]
		if !met {
			seq = start(tick, g.worker, era.MaxSeq())
		}
		if seq <= era.MaxSeq() {
			g.next[first] = seq + 1
			gene := bitsalloc.GeneOf(seq, era.Layout().GeneBits)
			id, err := era.ComposeGene(tick, g.worker, seq, gene)
			return uid.ID(id), err
		}
		if !g.spill {
			return 0, fmt.Errorf("%w: the one of %v", ErrTickFull, t)
		}
		at = era.TimeAt(tick + 1)
	}
	return 0, fmt.Errorf("%w: %v", uid.ErrExhausted, t)
}

// start returns the sequence number of a tick's first id: a hash of the tick and the worker id in
// the lower half of the sequence, as a generator's is. So at least half of the tick is left, and
// the ids spread over any number of shards. The hash is the finaliser of splitmix64 (Steele, Lea,
// Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func start(tick, worker, maxSeq int64) int64 {
	const golden = 0x9E3779B97F4A7C15
	x := uint64(tick) + uint64(worker)*golden + golden
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	x ^= x >> 31
	return int64(x % max(1, uint64(maxSeq+1)/2))
}

// How long Close waits for the authority: first for an answer, then for one that takes no notice of
// its ctx.
const (
	releaseTimeout = 5 * time.Second
	releaseGrace   = 100 * time.Millisecond
)

// Close ends the use of the worker id, which no other process ever gets. Calls of At fail with
// uid.ErrClosed from then on. It asks the claim's authority for up to five seconds, which no call
// of At waits for. An error says that the authority was not told; the use has ended all the same.
// Closing twice does nothing: a second call returns nil at once, also while the first one is at
// work.
func (g *Generator) Close() error {
	g.mu.Lock()
	closed := g.done
	g.done, g.next = true, nil
	g.mu.Unlock()
	if closed {
		return nil
	}
	// No call of At makes an id from here on.
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	all := g.eras.All()
	last := all[len(all)-1]
	back := make(chan error, 1)
	go func() { back <- g.claim.Release(ctx, last.TimeAt(last.MaxTick())) }()
	var err error
	select {
	case err = <-back:
	case <-time.After(releaseTimeout + releaseGrace):
		err = errors.New("the authority's Release has not returned")
	}
	if err != nil {
		return fmt.Errorf("backfill: giving the worker id back: %w", err)
	}
	return nil
}
