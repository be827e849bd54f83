package uid_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/winlog"
)

// errNetwork is what a process sees of a call that got no answer.
var errNetwork = errors.New("no answer")

// fault is what happens to one call of the authority.
type fault struct {
	refused       bool          // at once
	before, after time.Duration // delays of request and answer
	request       bool          // the request is lost
	answer        bool          // the answer is lost: the authority has done what it was asked for
	patience      time.Duration // how long the process waits for an answer
}

// newFault draws what happens to a call.
func newFault(rnd *rand.Rand) fault {
	f := fault{patience: upTo(rnd, 20*time.Second)}
	long := pick(rnd, 100*time.Millisecond, 3*time.Second, 15*time.Second)
	switch rnd.IntN(6) {
	case 0:
		f.refused = true
	case 1:
		f.request = true
	case 2:
		f.answer = true
	case 3:
		f.answer, f.before, f.after = true, upTo(rnd, long), upTo(rnd, long)
	default:
		f.before, f.after = upTo(rnd, long), upTo(rnd, long)
	}
	return f
}

// call sends a request to the authority, whose answer is what do returns. A request that is late
// arrives although nobody waits for its answer any more.
func call[T any](ctx context.Context, l *life, what string, do func() (T, error)) (answer T,
	err error) {
	type result struct {
		answer T
		err    error
	}
	w := l.p.w
	f, ok := l.send()
	if !ok {
		return answer, errNetwork
	}
	w.log(l.p.n, "%s: %+v", what, f)
	var r result
	switch {
	case f.refused:
		r.err = errNetwork
	case f == (fault{}):
		r.answer, r.err = do()
	default:
		answered := make(chan result, 1)
		w.wg.Go(func() {
			time.Sleep(f.before)
			if !f.request && w.up() {
				a, err := do()
				answered <- result{a, err}
			}
		})
		select {
		case r = <-answered:
			select {
			case <-time.After(f.after):
			case <-ctx.Done():
				r.err = ctx.Err()
			}
			if f.answer {
				r.err = errNetwork
			}
		case <-time.After(f.patience):
			r.err = errNetwork
		case <-ctx.Done():
			r.err = ctx.Err()
		}
	}
	l.stand()
	if l.isDead() {
		return answer, errNetwork
	}
	w.log(l.p.n, "%s: %v, %v", what, r.answer, r.err)
	return r.answer, r.err
}

// send returns what happens to a life's next call. ok is false if the process is dead.
func (l *life) send() (f fault, ok bool) {
	l.stand()
	w := l.p.w
	calm := w.calm()
	w.mu.Lock()
	defer w.mu.Unlock()
	if l.dead {
		return f, false
	}
	w.calls++
	if !calm && l.rnd.Float64() < w.trouble {
		f = newFault(l.rnd)
	}
	if w.down && !calm {
		f.refused = true
	}
	return f, true
}

// up reports whether the authority is there.
func (w *world) up() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.down || !time.Now().Before(w.end)
}

// Assign claims a worker id over the network.
func (l *life) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	w := l.p.w
	m := w.authority
	if w.flaw == "two owners" && l.p.n%2 == 1 {
		m = w.second
	}
	c, err := call(ctx, l, "Assign", func() (assigner.Claim, error) {
		return m.BindLayout(l.layouts).Assign(context.Background(), maxWorker)
	})
	w.set(func() { l.none = unassigned(err) })
	if err != nil {
		return nil, err
	}
	claim := &simClaim{l: l, far: c}
	claim.window.Worker = c.Worker()
	claim.window.From, claim.window.Until = c.Window()
	if w.flaw == "early window" && claim.window.From.After(w.start) {
		claim.window.From = claim.window.From.Add(-2 * w.layout.Tick)
	}
	w.mu.Lock()
	w.claims++
	claim.window.Claim = w.claims
	// the first whole one
	at := w.eras.At(claim.window.From)
	tick := at.TimeAt(at.TickAt(claim.window.From.Add(at.Layout().Tick - 1)))
	l.pulled = l.pulled || tick.After(time.Now())
	l.claims = append(l.claims, claim)
	w.mu.Unlock()
	claim.publish()
	if clock, ok := c.(assigner.Clock); ok {
		return simClock{claim, clock}, nil
	}
	return claim, nil
}

// simClaim is a claim at the end of a network that loses and delays. It knows what answers told it.
type simClaim struct {
	l   *life
	far assigner.Claim // the authority's side

	mu     sync.Mutex
	window winlog.Window
}

// publish enters the window as it is known here into the log of the fleet's windows.
func (c *simClaim) publish() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.l.p.w.windows.Put(c.window)
}

func (c *simClaim) Worker() int64 { return c.window.Worker }

func (c *simClaim) Window() (from, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.l.p.w.flaw == "ignores end" {
		return c.window.From, c.window.Until.Add(2 * c.l.p.w.layout.Tick)
	}
	return c.window.From, c.window.Until
}

// covers reports whether [from, until) lies inside the window.
func (c *simClaim) covers(worker int64, from, until time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.window.Worker == worker && !from.Before(c.window.From) && !until.After(c.window.Until)
}

func (c *simClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	flaw := c.l.p.w.flaw
	end, err := call(ctx, c.l, fmt.Sprintf("Extend %d", c.Worker()), func() (time.Time, error) {
		if flaw == "forgets" {
			return until, nil
		}
		return c.far.Extend(context.Background(), until)
	})
	if flaw == "no fence" && errors.Is(err, assigner.ErrClaimLost) {
		end, err = until, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	c.mu.Lock()
	c.window.Until = end
	c.mu.Unlock()
	c.publish()
	return end, nil
}

func (c *simClaim) Release(ctx context.Context, used time.Time) error {
	if !c.l.isDead() { // nothing is stamped from used on
		c.mu.Lock()
		if !used.After(c.window.From) {
			c.window.Until = c.window.From.Add(-1) // empty
		} else if c.window.Until.After(used) {
			c.window.Until = used
		}
		c.mu.Unlock()
		c.publish()
	}
	if w := c.l.p.w; w.flaw == "restarts early" {
		used = used.Add(-2 * w.layout.Tick)
	}
	_, err := call(ctx, c.l, fmt.Sprintf("Release %d", c.Worker()), func() (any, error) {
		return nil, c.far.Release(context.Background(), used)
	})
	return err
}

// simClock is a claim whose authority tells the time.
type simClock struct {
	*simClaim
	clock assigner.Clock
}

func (c simClock) Now(ctx context.Context) (time.Time, error) {
	return call(ctx, c.l, "Now", func() (time.Time,
		error) {
		return c.clock.Now(context.Background())
	})
}
