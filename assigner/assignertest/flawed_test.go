package assignertest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/internal/claimtest"
)

// flawed is a Memory with a fault.
type flawed struct {
	*claimtest.Memory
	flaw        string
	first, last int64
	layout      string
	shared      *flawedState
}

// flawedLayout is the layout of claims that a flaw lets in. It is the first one that the suite uses.
const flawedLayout = "28-22-13-0/1s@2026-01-01T00:00:00Z"

// flawedState is what the Assigners of one authority share.
type flawedState struct {
	mu     sync.Mutex
	newest map[int64]assigner.Claim // by worker id
	unused map[int64]bool           // released with nothing stamped
}

// newFlawed returns the Factory of an authority with a fault. Without one it passes the suite.
func newFlawed(flaw string) assignertest.Factory {
	open := func() flawed {
		return flawed{&claimtest.Memory{TellTime: true}, flaw, 0, math.MaxInt64, "",
			&flawedState{newest: map[int64]assigner.Claim{}, unused: map[int64]bool{}}}
	}
	return assignertest.Factory{
		BoundsLead: flaw == "grants nothing", // which a bound does not excuse
		Authority: func(testing.TB) func() assigner.Assigner {
			f := open()
			return func() assigner.Assigner { return f }
		},
		Clock: func(testing.TB) (func() assigner.Assigner, func(time.Duration)) {
			f := open()
			return func() assigner.Assigner { return f }, f.Step
		},
		Ranges: func(testing.TB) func(first, last int64) assigner.Assigner {
			f := open()
			return func(first, last int64) assigner.Assigner {
				if flaw != "ignores its range" {
					f.first, f.last = first, last
				}
				return f
			}
		},
	}
}

func (f flawed) BindLayout(layout string) assigner.Assigner {
	f.layout = layout
	return f
}

func (f flawed) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	most := maxWorker
	switch f.flaw {
	case "assign ignores ctx":
		ctx = context.WithoutCancel(ctx)
	case "truncates", "beyond the maximum":
		most = math.MaxInt64
	case "any layout":
		f.layout = flawedLayout
	case "no layout is any":
		f.layout = cmp.Or(f.layout, flawedLayout)
	case "takes over early":
		for w := range int64(100) {
			f.Lose(w)
		}
	case "cuts its range":
		f.first, f.last = max(f.first, 0), min(max(f.last, f.first), maxWorker)
	}
	a := f.Range(f.first, f.last)
	if f.flaw == "ignores later layouts" {
		f.layout, _, _ = strings.Cut(f.layout, ",")
	}
	if f.layout != "" {
		a = a.(assigner.LayoutBinder).BindLayout(f.layout)
	}
	if f.flaw == "remembers nothing" {
		a = claimtest.Static(3)
	}
	inner, err := a.Assign(ctx, most)
	switch {
	case err == nil:
	case f.flaw == "adds layouts early" && strings.Contains(err.Error(), "is added"):
		inner, err = f.Memory.BindLayout(flawedLayout).Assign(ctx, most)
	case f.flaw == "ctx error not wrapped" && ctx.Err() != nil:
		return nil, fmt.Errorf("memory: %v", err)
	case f.flaw == "unnamed exhaustion" && errors.Is(err, assigner.ErrWorkersExhausted):
		return nil, errors.New("memory: full")
	case f.flaw == "mute mismatch" && errors.Is(err, assigner.ErrLayoutMismatch):
		return nil, assigner.ErrLayoutMismatch
	}
	if err != nil {
		return nil, err
	}
	c := &flawedClaim{Claim: inner, f: f, worker: inner.Worker()}
	c.from, c.until = inner.Window()
	f.shared.mu.Lock()
	defer f.shared.mu.Unlock()
	switch reused := f.shared.newest[c.worker] != nil; {
	case f.flaw == "empty window":
		c.from = f.Now()
		c.until = c.from
	case reused && f.flaw == "forgets the fence":
		c.from = f.Now().Add(-2 * time.Hour)
	case reused && f.flaw == "begins early":
		c.from = c.from.Add(-time.Second)
	case f.flaw == "remembers nothing", reused && f.flaw == "begins at its clock":
		c.from = f.Now()
	case f.shared.unused[c.worker] && f.flaw == "forgets earlier owners":
		c.from = time.Time{}
	}
	f.shared.newest[c.worker] = inner
	switch f.flaw {
	case "negative":
		c.worker = -1
	case "truncates":
		c.worker &= maxWorker
	}
	return c, nil
}

type flawedClaim struct {
	assigner.Claim
	f        flawed
	worker   int64
	released bool

	mu          sync.Mutex
	from, until time.Time
	calls       int // of Window
}

func (c *flawedClaim) Worker() int64 { return c.worker }

func (c *flawedClaim) Universe() string {
	switch c.f.flaw {
	case "one name for all":
		return "4711"
	case "a name for each":
		return strconv.FormatInt(c.worker, 10)
	}
	return fmt.Sprintf("%p", c.f.Memory)
}

func (c *flawedClaim) Window() (from, until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.f.flaw == "flickers" {
		c.calls++
		return c.from, c.until.Add(-time.Duration(c.calls) * time.Millisecond)
	}
	return c.from, c.until
}

func (c *flawedClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	switch {
	case c.f.flaw == "extend ignores ctx":
		ctx = context.WithoutCancel(ctx)
	case c.f.flaw == "cancelled is lost" && ctx.Err() != nil:
		return time.Time{}, assigner.ErrClaimLost
	case c.f.flaw == "extends what is gone" && c.released:
		return until, nil
	case c.f.flaw == "grants less":
		until = until.Add(-time.Minute)
	}
	end, err := c.Claim.Extend(ctx, until)
	if c.f.flaw == "stops silently" && errors.Is(err, assigner.ErrSuperseded) {
		return c.Claim.Extend(ctx, time.Time{})
	}
	if err != nil {
		return end, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch c.f.flaw {
	case "moves from":
		c.from = c.from.Add(time.Second)
	case "shrinks":
		end = until
	case "hides the extension":
		return end, nil
	case "grants nothing":
		return c.until, nil
	}
	c.until = end
	return end, nil
}

func (c *flawedClaim) Release(ctx context.Context, used time.Time) error {
	c.f.shared.mu.Lock()
	defer c.f.shared.mu.Unlock()
	if c.released && c.f.flaw == "second release fails" {
		return assigner.ErrClaimLost
	}
	if c.released && c.f.flaw == "stale release" {
		return c.f.shared.newest[c.worker].Release(ctx, used)
	}
	c.released = true
	c.f.shared.unused[c.worker] = used.IsZero()
	if c.f.flaw == "forgets what was used" {
		used = time.Time{}
	}
	return c.Claim.Release(ctx, used)
}

func (c *flawedClaim) Now(ctx context.Context) (time.Time, error) {
	switch c.f.flaw {
	case "wrong epoch":
		return time.Unix(time.Now().UnixMilli(), 0), nil
	case "clock ignores ctx":
		return time.Now(), nil
	case "remembers nothing":
		return time.Now(), ctx.Err()
	}
	return c.Claim.(assigner.Clock).Now(ctx)
}
