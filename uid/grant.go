package uid

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// grant is what a claim permits, in ticks: ids with this worker id may be composed in [from, end). It is immutable; the
// keeper replaces it whole.
type grant struct {
	worker int64
	base   int64     // the id of (tick 0, worker, seq 0)
	from   int64     // first tick that lies inside the window
	end    int64     // first tick that does not: of the window, or of the time bits
	renew  int64     // first tick at which the keeper should be at work on the window's extension
	until  time.Time // the window's end; zero: none
	start  time.Time // the window's begin; zero: none
	err    error     // what keeps the window from growing; nil while all is well
}

// newGrant translates a claim's window into ticks: the ticks that lie inside it from their first to their last instant.
func newGrant(alloc *bitsalloc.Allocator, c assigner.Claim) (*grant, error) {
	base, err := alloc.Compose(0, c.Worker(), 0)
	if err != nil {
		return nil, fmt.Errorf("uid: the assigner's worker id: %w", err)
	}
	g := &grant{worker: c.Worker(), base: base, end: alloc.MaxTick() + 1}
	g.start, g.until = c.Window()
	if !g.start.IsZero() {
		if g.from = alloc.TickAt(g.start); alloc.TimeAt(g.from).Before(g.start) {
			g.from++
		}
		g.from = min(max(0, g.from), g.end)
	}
	if !g.until.IsZero() {
		g.end = max(0, min(g.end, alloc.TickAt(g.until)))
	}
	return g, nil
}

// permits returns nil if the grant covers tick, else why not: ErrExhausted, ErrClaimLost, ErrClaimExpired, or
// errExtending while the keeper is at work and nothing has failed.
func (g *grant) permits(alloc *bitsalloc.Allocator, tick int64) error {
	switch {
	case tick > alloc.MaxTick():
		return fmt.Errorf("%w: the layout %v ends at %v", ErrExhausted, alloc.Layout(), alloc.Expires())
	case tick < g.end:
		return nil
	case g.err != nil:
		return g.err
	default:
		return errExtending
	}
}
