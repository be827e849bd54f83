package uid

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// errExtending says that the window's end is reached and the keeper is extending it. It never leaves the package:
// callers wait, or get ErrEmpty when they may not.
var errExtending = errors.New("uid: claim is being extended")

const (
	keeperPauseMin   = 10 * time.Millisecond // between two looks that the timer causes
	keeperBackoffMin = 100 * time.Millisecond
	keeperBackoffMax = 10 * time.Second
	keeperAttempt    = 10 * time.Second // bound of one call of the authority
	releaseTimeout   = 5 * time.Second  // bound of Close's call of the authority
)

// keeper owns the claim: it extends the window well before its end, claims a new worker id when the old one is lost, and
// has a held clock confirmed. Its one goroutine is the only one that calls the claim, and it runs only if there is
// something to keep. Composing reads grant and nothing else, so the keeper costs nothing per id.
type keeper struct {
	alloc      *bitsalloc.Allocator
	assigner   assigner.Assigner
	clock      *clock
	logger     *slog.Logger
	noReassign bool
	position   func() int64 // the tick that the generator composes next
	changed    func()       // called after every change of grant; holds no lock

	grant atomic.Pointer[grant]

	wake chan struct{} // capacity 1: look again
	wg   sync.WaitGroup
	stop context.CancelFunc

	// Owned by the goroutine, and by release after it ended.
	claim  assigner.Claim
	window time.Duration // what is left of the window when it is claimed: what Extend asks for
}

// newKeeper makes the first claim. It blocks until the assigner answers or ctx ends, and starts no goroutine.
func newKeeper(ctx context.Context, a assigner.Assigner, o *Options, alloc *bitsalloc.Allocator, c *clock) (*keeper, error) {
	if a == nil {
		return nil, fmt.Errorf("%w: the assigner is nil", ErrOptions)
	}
	if b, ok := a.(assigner.LayoutBinder); ok {
		a = b.BindLayout(alloc.Layout().String())
	}
	k := &keeper{alloc: alloc, assigner: a, clock: c, logger: o.Logger, noReassign: o.NoReassign,
		wake: make(chan struct{}, 1), stop: func() {}}
	if err := k.assign(ctx); err != nil {
		return nil, err
	}
	return k, nil
}

// assign makes a claim and publishes its grant.
func (k *keeper) assign(ctx context.Context) error {
	c, err := k.assigner.Assign(ctx, k.alloc.MaxWorker())
	if err != nil {
		return fmt.Errorf("uid: assigning a worker id: %w", err)
	}
	g, err := newGrant(k.alloc, c)
	if err != nil {
		return errors.Join(err, c.Release(ctx, time.Time{}))
	}
	// A window may begin long ago, where the last owner's ended, or ahead of the clock.
	begin := k.clock.now()
	if g.start.After(begin) {
		begin = g.start
	}
	left := g.until.Sub(begin)
	if left <= 0 && !g.start.IsZero() {
		left = g.until.Sub(g.start) // passed by this clock, as when the authority's is behind: its length is the best guess
	}
	// A window that holds no whole tick would be extended to one that permits nothing either.
	k.claim, k.window = c, max(2*k.alloc.Layout().Tick, left)
	k.publish(g)
	return nil
}

// publish makes g the grant that is composed under, with the tick from which on it wants to be extended.
func (k *keeper) publish(g *grant) {
	g.renew = g.end
	if !g.until.IsZero() {
		g.renew = k.alloc.TickAt(g.until.Add(-k.window / 2))
	}
	k.grant.Store(g)
}

// run starts the goroutine if the claim has an end or can tell the time.
func (k *keeper) run() {
	_, tells := k.claim.(assigner.Clock)
	if k.grant.Load().until.IsZero() && !tells {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	k.stop = stop
	k.wg.Go(func() { k.loop(ctx) })
}

// kick asks the keeper to look at the window and the clock. It never blocks.
func (k *keeper) kick() {
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

// release ends the goroutine and gives the claim's rest back; used is the end of the last tick that may have been stamped.
func (k *keeper) release(used time.Time) error {
	k.stop()
	k.wg.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	if err := k.claim.Release(ctx, used); err != nil && !errors.Is(err, assigner.ErrClaimLost) {
		return fmt.Errorf("uid: releasing worker id %d: %w", k.claim.Worker(), err)
	}
	return nil
}

// loop looks after the claim until ctx ends.
func (k *keeper) loop(ctx context.Context) {
	backoff := time.Duration(0)
	timer := time.NewTimer(k.pause())
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		case <-k.wake:
			if backoff > 0 {
				continue // the timer paces the attempts; callers in need are not to hammer the authority
			}
		}
		if err := k.tend(ctx); err == nil {
			backoff = 0
			timer.Reset(max(keeperPauseMin, k.pause()))
			continue
		}
		if ctx.Err() != nil {
			return
		}
		backoff = min(max(2*backoff, keeperBackoffMin), keeperBackoffMax)
		timer.Reset(backoff/2 + rand.N(backoff))
	}
}

// pause returns how long the keeper may sleep: until half of the window is left, or a jump of the clock wants another look.
func (k *keeper) pause() time.Duration {
	longest := time.Hour
	if k.clock.jump() > 0 {
		longest = keeperBackoffMax
	}
	return min(longest, k.due())
}

// due returns how long it takes until half of the window is left, 0 when that is over.
func (k *keeper) due() time.Duration {
	g := k.grant.Load()
	if g.until.IsZero() || k.noReassign && errors.Is(g.err, ErrClaimLost) {
		return 1<<63 - 1
	}
	return max(0, g.until.Sub(k.front())-k.window/2)
}

// front returns the later of the present and the end of the tick that is composed next: what the window has to stay ahead of.
func (k *keeper) front() time.Time {
	now, pos := k.clock.now(), k.alloc.TimeAt(k.position()+1)
	if pos.After(now) {
		return pos
	}
	return now
}

// tend does what is due and returns an error if it has to be tried again soon.
func (k *keeper) tend(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, keeperAttempt)
	defer cancel()
	if c, ok := k.claim.(assigner.Clock); ok && k.clock.jump() > 0 {
		if t, err := c.Now(ctx); err == nil && k.clock.confirm(t) {
			k.logger.Warn("clock jump confirmed by the claim's authority", "time", t)
			k.changed()
		}
	}
	g := k.grant.Load()
	if k.due() > 0 && (g.err == nil || k.noReassign) {
		return nil
	}
	if errors.Is(g.err, ErrClaimLost) {
		return k.reassign(ctx)
	}
	return k.extend(ctx, g)
}

// extend moves the window's end, or publishes why it cannot.
func (k *keeper) extend(ctx context.Context, g *grant) error {
	_, err := k.claim.Extend(ctx, k.front().Add(k.window))
	if err == nil {
		next, err := newGrant(k.alloc, k.claim)
		if err != nil {
			return err
		}
		if g.err != nil {
			k.logger.Info("claim extended again", "worker", g.worker, "until", next.until)
		}
		k.publish(next)
		k.changed()
		return nil
	}
	if ctx.Err() != nil && context.Cause(ctx) == context.Canceled {
		return err // Close
	}
	failed := *g
	if errors.Is(err, assigner.ErrClaimLost) {
		failed.err = fmt.Errorf("uid: worker id %d: %w", g.worker, err)
	} else {
		failed.err = fmt.Errorf("%w: worker id %d could not be extended beyond %v: %w", ErrClaimExpired, g.worker, g.until, err)
	}
	if g.err == nil {
		k.logger.Warn("claim not extended", "worker", g.worker, "until", g.until, "error", err)
	}
	k.grant.Store(&failed)
	k.changed()
	if errors.Is(err, assigner.ErrClaimLost) {
		return k.reassign(ctx)
	}
	return err
}

// reassign replaces a lost claim by a new one, with a worker id of its own. The lost window stays usable until then.
func (k *keeper) reassign(ctx context.Context) error {
	if k.noReassign {
		return nil
	}
	lost := k.grant.Load().worker
	if err := k.assign(ctx); err != nil {
		return err
	}
	k.logger.Warn("worker id replaced after its claim was lost", "lost", lost, "worker", k.grant.Load().worker)
	k.changed()
	return nil
}
