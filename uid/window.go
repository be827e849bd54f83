package uid

import (
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/bitsalloc"
)

// window is a claim's window in positions, with the worker id: ids of that worker may be composed
// in [from, end). It is immutable; the keeper replaces it whole.
//
//	   start                                         until     the claim's window
//	─────┼───┬───────┬───────┬── ... ──┬───────┬───────┬──┼─────►  ticks
//	         from                      renew           end
//
// Only ticks that lie inside the window as a whole are used, so no tick has two owners where one
// window ends and the next one begins in it. The rounding costs up to a tick at either end.
//
// A goroutine that has loaded a window may use it for as long as it likes, also after the keeper
// has replaced it: the authority gives no part of it to another owner before its end, and end is
// what stops it. That is why no lock ties composing to the keeper.
type window struct {
	worker int64
	from   uint64    // the first tick that lies inside the window as a whole; 0: no start
	end    uint64    // the first tick that does not: of the window, or of the time bits
	renew  uint64    // from this tick on composing kicks the keeper to extend the window
	start  time.Time // the window's beginning; zero: none
	until  time.Time // the window's end; zero: none

	extended time.Time // when the claim was made or last extended
	failing  time.Time // since when extending has failed; zero: it does not
	err      error     // why extending fails, a *claimError; nil: it does not
	lost     bool      // another owner has the worker id after the window
	universe string    // what the claim calls its universe of ids; may be empty
}

// newWindow translates a claim's window into the ticks that lie inside it from their first to their
// last instant: from is rounded up to a tick, end down. Without a whole tick
// end <= from, which permits nothing. renew and extended are left to the keeper. A worker id
// that one of the eras cannot hold is an error that wraps bitsalloc.ErrRange.
func newWindow(l *timeline, c assigner.Claim) (*window, error) {
	if w := c.Worker(); w < 0 || w > l.maxWorker {
		return nil, fmt.Errorf("%w: the assigner's worker id is %d, want 0..%d",
			bitsalloc.ErrRange, w, l.maxWorker)
	}
	w := &window{worker: c.Worker(), end: l.end()}
	if n, ok := c.(assigner.Named); ok {
		w.universe = n.Universe()
	}
	// Without the monotonic time that they may carry: positions go by the wall clock, which may be
	// set, and so do the times that are compared with these.
	start, until := c.Window()
	w.start, w.until = start.Round(0), until.Round(0)
	if w.from = l.at(w.start); l.time(w.from).Before(w.start) {
		w.from = l.next(w.from)
	}
	if !w.until.IsZero() {
		w.end = l.at(w.until)
	}
	return w, nil
}

// covers returns nil if the window covers the tick of pos, else why not: ErrExhausted, the reason
// why the window has not been extended, or errExtending while the keeper is at work and nothing has
// failed. It does not compare pos with from: the position has passed it when a window is in use.
func (l *timeline) covers(w *window, pos uint64) error {
	switch {
	case pos >= l.end():
		return l.exhausted()
	case pos < w.end:
		return nil
	case w.err != nil:
		return w.err
	default:
		return errExtending
	}
}
