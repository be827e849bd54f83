// Package winlog keeps a log of the windows of claims, for tests, and finds windows that overlap.
package winlog

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/assigner"
)

// Window is what one claim may have stamped: [From, Until) on a worker id. Zero times are without
// bound.
type Window struct {
	Claim  int64 // tells the claims of one log apart
	Worker int64
	From   time.Time
	Until  time.Time
}

// empty reports whether nothing can be stamped in w.
func (w Window) empty() bool { return !w.Until.IsZero() && !w.From.Before(w.Until) }

// Log is a log of windows. The zero value is empty and ready to use. Its methods are safe for
// concurrent use.
type Log struct {
	claims atomic.Int64 // how many Watch has numbered

	mu      sync.Mutex
	byClaim map[int64]Window
}

// Put adds w, or replaces the earlier state of the same claim's window.
func (l *Log) Put(w Window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byClaim == nil {
		l.byClaim = map[int64]Window{}
	}
	l.byClaim[w.Claim] = w
}

// All returns the windows, by worker id and begin.
func (l *Log) All() []Window {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.byClaim), func(a, b Window) int {
		return cmp.Or(cmp.Compare(a.Worker, b.Worker), a.From.Compare(b.From),
			a.Until.Compare(b.Until))
	})
}

// Overlap returns an error that shows two windows of one worker id that overlap, or nil if there
// are none. Each window has to begin at or after the end of the one before it.
func (l *Log) Overlap() error {
	all := slices.DeleteFunc(l.All(), Window.empty)
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if a.Worker == b.Worker && (a.Until.IsZero() || b.From.Before(a.Until)) {
			return fmt.Errorf("worker %d was owned twice at a time: in [%v, %v) and in [%v, %v)",
				a.Worker, a.From, a.Until, b.From, b.Until)
		}
	}
	return nil
}

// Watch returns an Assigner that calls report with every window that claims of a have. It reports a
// new window and an extended one before the caller gets it, and one that is given back before the
// authority knows. Claims are numbered from 1. report is called by the goroutines that use a.
func Watch(a assigner.Assigner, report func(Window)) assigner.Assigner {
	return watched{a, report, new(atomic.Int64)}
}

// Watch is the function Watch for a log that several Assigners share.
func (l *Log) Watch(a assigner.Assigner) assigner.Assigner { return watched{a, l.Put, &l.claims} }

type watched struct {
	assigner.Assigner
	report func(Window)
	claims *atomic.Int64
}

// BindLayout binds what is watched, if it can be bound.
func (w watched) BindLayout(layout string) assigner.Assigner {
	if b, ok := w.Assigner.(assigner.LayoutBinder); ok {
		w.Assigner = b.BindLayout(layout)
	}
	return w
}

func (w watched) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	c, err := w.Assigner.Assign(ctx, maxWorker)
	if err != nil {
		return nil, err
	}
	wc := watchedClaim{c, w.report, w.claims.Add(1)}
	wc.see()
	if clock, ok := c.(assigner.Clock); ok {
		return watchedClock{wc, clock}, nil
	}
	return wc, nil
}

type watchedClaim struct {
	assigner.Claim
	report func(Window)
	number int64
}

type watchedClock struct {
	watchedClaim
	assigner.Clock
}

// Span returns that of the claim that is watched, or 0 if it has none.
func (c watchedClaim) Span() time.Duration {
	if w, ok := c.Claim.(assigner.Windowed); ok {
		return w.Span()
	}
	return 0
}

// see reports the window as it is.
func (c watchedClaim) see() {
	from, until := c.Window()
	c.report(Window{c.number, c.Worker(), from, until})
}

func (c watchedClaim) Extend(ctx context.Context, until time.Time) (time.Time, error) {
	end, err := c.Claim.Extend(ctx, until)
	if err == nil {
		c.see()
	}
	return end, err
}

func (c watchedClaim) Release(ctx context.Context, used time.Time) error {
	from, until := c.Window()
	switch {
	case !used.After(from):
		until = from.Add(-1) // empty, and not the zero time
	case until.IsZero() || used.Before(until):
		until = used
	}
	c.report(Window{c.number, c.Worker(), from, until})
	return c.Claim.Release(ctx, used)
}

// Unwatched returns the claim that Watch has wrapped.
func Unwatched(c assigner.Claim) assigner.Claim {
	switch w := c.(type) {
	case watchedClaim:
		return w.Claim
	case watchedClock:
		return w.watchedClaim.Claim
	}
	return c
}
