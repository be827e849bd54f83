package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// Assigner hands out worker ids from ZooKeeper. It runs goroutines, those of the ZooKeeper client,
// until Close. It is an assigner.LayoutBinder, and its claims are assigner.Clocks. It is safe for
// concurrent use, and one serves any number of generators, each with a claim of its own.
type Assigner struct {
	o       Options
	session *session
	tree    *tree
	cache   *cache           // nil without a CacheFile
	now     func() time.Time // the local clock

	peer    string       // name of the ephemeral node, which holds the local clock
	claims  atomic.Int64 // that are held, and calls of Assign that may make one
	touched atomic.Int64 // the transaction that wrote the ephemeral node last
	claimed chan struct{}
	first   sync.Once // closes claimed, with the first claim
	stop    context.CancelFunc
	wg      sync.WaitGroup

	// turn holds one element while a call of Assign owns the cache file. Two calls that read one
	// proof could both begin at its From, one by the file and one by ZooKeeper.
	turn chan struct{}

	// Unix milliseconds: windows that ZooKeeper has forgotten end here at the latest.
	gap atomic.Int64
}

// forgot takes note that windows up to end may be missing in ZooKeeper.
func (a *Assigner) forgot(end time.Time) {
	for ms := end.UnixMilli(); ; {
		old := a.gap.Load()
		if old >= ms || a.gap.CompareAndSwap(old, ms) {
			return
		}
	}
}

// begin returns where a window may begin that ZooKeeper lets begin at from.
func (a *Assigner) begin(from time.Time) time.Time {
	if ms := a.gap.Load(); ms > 0 && millis(ms).After(from) {
		return millis(ms)
	}
	return from
}

var _ assigner.LayoutBinder = (*Assigner)(nil)

// New returns an Assigner for the ZooKeeper ensemble of servers, each host:port or host (port
// 2181). A nil o means the defaults. New begins to connect in the background and does not wait for
// it, so it succeeds while ZooKeeper is away; it fails when an option is invalid or the cache file
// is in use. The caller must Close it, after the generators that use it.
func New(servers []string, o *Options) (*Assigner, error) {
	opts, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("%w: servers is empty, want at least one host:port", ErrOptions)
	}
	ctx, stop := context.WithCancel(context.Background())
	a := &Assigner{o: opts, now: time.Now, peer: newToken(), claimed: make(chan struct{}),
		stop: stop,
		turn: make(chan struct{}, 1)}
	if opts.CacheFile != "" {
		if a.cache, err = openCache(opts.CacheFile); err != nil {
			stop()
			return nil, err
		}
	}
	if a.session, err = newSession(servers, &opts); err != nil {
		stop()
		return nil, errors.Join(err, a.cache.close())
	}
	a.tree = newTree(a.session, &opts)
	a.wg.Go(func() { a.answer(ctx) })
	return a, nil
}

// Close ends the connection and waits for its goroutines, about a second if ZooKeeper does not
// answer. Claims stay valid until their windows end, and cannot be extended or released any more:
// close the generators first. Closing twice does nothing.
func (a *Assigner) Close() error {
	a.stop()
	a.session.close()
	a.wg.Wait()
	return a.cache.close()
}

// String says under which node the slots are.
func (a *Assigner) String() string { return "ZooKeeper under " + a.o.Root }

// BindLayout returns an Assigner whose claims are for ids of the given layout. The first claim
// under a root decides which layout that is, with those that succeed it, or that it is none.
// Another one gets assigner.ErrLayoutMismatch. Close ends it together with a.
func (a *Assigner) BindLayout(layout string) assigner.Assigner { return bound{a, layout} }

type bound struct {
	*Assigner
	layout string
}

func (b bound) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	return b.assign(ctx, b.layout, maxWorker)
}

// Assign claims the slot of this instance's name if its window has passed, else any slot whose
// window has passed, else a new one. While ZooKeeper does not answer, it retries until ctx
// ends, unless the cache file proves a window and ZooKeeper stays silent for a SessionTimeout.
//
// Errors: ErrUnavailable, ErrClock, ErrCache, ErrClosed, assigner.ErrLayoutMismatch,
// assigner.ErrWorkersExhausted, and what ZooKeeper itself says of missing rights.
func (a *Assigner) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	return a.assign(ctx, "", maxWorker)
}

func (a *Assigner) assign(ctx context.Context, layout string,
	maxWorker int64) (assigner.Claim, error) {
	a.claims.Add(1)
	c, err := a.attempt(ctx, layout, maxWorker)
	if err != nil {
		if a.claims.Add(-1) == 0 {
			a.withdraw()
		}
		return nil, err
	}
	a.first.Do(func() { close(a.claimed) })
	return c, nil
}

// attempt makes a claim, by ZooKeeper or by the cache file.
func (a *Assigner) attempt(ctx context.Context, layout string, maxWorker int64) (*claim, error) {
	if maxWorker < 0 {
		return nil, fmt.Errorf("%w: maxWorker is %d, want at least 0",
			assigner.ErrWorkersExhausted, maxWorker)
	}
	last := a.o.Last
	if last == 0 {
		last = maxWorker
	}
	if last > maxWorker || a.o.First > last {
		return nil, fmt.Errorf("%w: assigner/zookeeper: First is %d and Last %d, the layout's "+
			"highest worker id is %d", assigner.ErrWorkersExhausted, a.o.First, last, maxWorker)
	}
	at := &attempt{a: a, layout: layout, last: last, sent: map[string]time.Time{}}
	var noProof error
	if a.cache != nil {
		select {
		case a.turn <- struct{}{}:
			defer func() { <-a.turn }()
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
		}
		at.proof, noProof = a.cache.proof(&a.o, layout, last)
	}
	online := ctx
	if at.proof != nil {
		var cancel context.CancelFunc
		online, cancel = context.WithTimeout(ctx, a.o.SessionTimeout)
		defer cancel()
	}
	c, err := at.claim(online)
	switch {
	case err == nil:
		return c, nil
	case at.proof != nil && errors.Is(err, ErrUnavailable) && ctx.Err() == nil:
		// Only silence leads here. An answer of ZooKeeper, such as a refused clock, is final.
		c, fileErr := a.claimFromFile(at)
		if fileErr != nil {
			return nil, fmt.Errorf("%w; %w", err, fileErr)
		}
		a.o.Logger.Warn("zookeeper does not answer, worker id taken from the cache file",
			"worker", c.worker, "until", c.reserved, "error", err)
		return c, nil
	case noProof != nil && errors.Is(err, ErrUnavailable):
		return nil, fmt.Errorf("%w; %w", err, noProof)
	}
	return nil, err
}

// claimFromFile makes a claim of what the cache file proves, without ZooKeeper.
func (a *Assigner) claimFromFile(at *attempt) (*claim, error) {
	p, now := at.proof, a.now()
	if err := a.checkFront(p.Worker, millis(p.Front)); err != nil {
		return nil, err
	}
	until := millis(p.Until)
	if p.From == p.Until || !until.After(now) {
		return nil, fmt.Errorf("%w: %s: the window that it proves, [%v, %v), is over",
			ErrCache, a.o.CacheFile, millis(p.From), until)
	}
	c := &claim{a: a, layout: at.layout, worker: p.Worker, from: millis(p.From),
		token: p.Token, version: p.NodeVersion, reserved: until, usable: until,
		until: until, front: now}
	if recent := now.Add(-headroom); recent.After(c.from) {
		c.from = recent
	}
	if c.from.After(now) {
		c.front = c.from
	}
	if step := millis(c.front.Add(a.o.Window).UnixMilli()); step.Before(until) {
		c.until = step
	}
	// The attempt may have claimed this very slot, with the answer lost or still to come. That
	// write is this claim's.
	for token := range at.sent {
		c.pending = append(c.pending, token)
	}
	if err := a.cache.hold(c); err != nil {
		return nil, err
	}
	return c, nil
}
