package segment

import (
	"time"

	"github.com/uidring/uidring/internal/segbound"
)

// pace decides how many ids to ask for. Guarded by Tag.mu.
//
// It follows Leaf's rule. A range that lasted less than a window (15 minutes) doubles the step, one
// that lasted two windows or more halves it. The step is never less than the source's own. So the
// source is asked about once a window, and the ids outlast an outage of about a window.
//
//	range lasted   0 ──────── window ──────── 2 * window ──────►
//	next step      * 2          as it was          / 2
//
// With the source's own step of 1,000, ten ranges that are used up fast bring it to the default's
// maximum.
type pace struct {
	base   int64         // the source's own step; 0: not known yet
	known  bool          // the source has said its own step with a range
	step   int64         // the adapted step; 0: ask for the source's own
	last   time.Time     // when the last range arrived; zero: never
	window time.Duration // Options.StepWindow
	limit  int64         // Options.MaxStep; 0: the default
}

// defaultMaxStep is the step at which Leaf's rule stops doubling.
const defaultMaxStep = 1_000_000

// max returns the largest step to ask for. Leaf compares before it doubles, so it may stop anywhere
// above half of its maximum; here the maximum is reached. A source's own step is never cut.
func (p *pace) max() int64 {
	limit := p.limit
	if limit == 0 {
		limit = defaultMaxStep
		if p.base > limit/2 {
			limit = min(p.base, segbound.Span/2) * 2
		}
	}
	return max(limit, p.base)
}

// next adapts the step at now and returns it; 0 asks for the source's own. It is called once for
// each range that is fetched, and not for a fetch that is tried again.
func (p *pace) next(now time.Time) int64 {
	if p.last.IsZero() {
		return 0
	}
	switch lasted := now.Sub(p.last); {
	case lasted < p.window:
		if p.step >= p.max()/2 {
			p.step = p.max()
		} else {
			p.step *= 2
		}
	case lasted >= 2*p.window:
		p.step /= 2
	}
	p.step = min(max(p.step, p.base, 1), p.max())
	return p.step
}

// fetched records that the source handed out r at now. A source that does not know its step teaches
// it by the length of its first range.
func (p *pace) fetched(r Range, now time.Time) {
	p.last = now
	switch {
	case r.Step > 0:
		p.known = true
		p.setBase(r.Step)
	case p.base == 0:
		p.setBase(r.Len())
	}
}

// setBase sets the source's own step. A raised step takes effect with the next range. After a
// lowered one the adapted step only shrinks by halving, so that a range that lasted long is what
// shortens it.
func (p *pace) setBase(base int64) {
	p.base = min(base, segbound.Span) // a larger one could not be asked for
	p.step = max(p.step, p.base)
}
