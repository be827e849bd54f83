package main

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/winlog"
	"github.com/uidring/uidring/uid"
)

// guard checks that a process stamps only ticks that lie inside a window of its own from their
// first to their last instant. It finds a generator that leaves its window, or has none, also if no
// other process uses the same tick. It is for one goroutine.
type guard struct {
	windows []winlog.Window // each claim's newest state

	// The tick and worker id of the last id, and whether that tick is inside of a window. Tick -1
	// means that it is not known.
	tick   int64
	worker int64
	inside bool
}

// window records a window that was granted, extended or given back.
func (g *guard) window(w winlog.Window) {
	g.tick = -1
	for i := range g.windows {
		if g.windows[i].Claim == w.Claim {
			g.windows[i] = w
			return
		}
	}
	g.windows = append(g.windows, w)
}

// outside returns how many ids were stamped outside of the windows, and the first of them.
func (g *guard) outside(alloc *bitsalloc.Allocator, ids []uid.ID) (n int64, first uid.ID) {
	for _, id := range ids {
		tick, worker, _, _ := alloc.Split(int64(id))
		if tick != g.tick || worker != g.worker {
			g.tick, g.worker = tick, worker
			g.inside = g.permits(worker, alloc.TimeAt(tick), alloc.TimeAt(tick+1))
		}
		if g.inside {
			continue
		}
		if n++; n == 1 {
			first = id
		}
	}
	return n, first
}

// permits reports whether [from, until) lies inside a window of worker.
func (g *guard) permits(worker int64, from, until time.Time) bool {
	for _, w := range g.windows {
		if w.Worker == worker && !from.Before(w.From) &&
			(w.Until.IsZero() || !until.After(w.Until)) {
			return true
		}
	}
	return false
}
