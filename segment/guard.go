package segment

import (
	"fmt"
	"math"
)

// guard compares each range of a tag with the earlier ones. Guarded by Tag.mu. The zero value is
// ready to use.
//
// A process knows only its own ranges. A counter that loses writes may also lose those of other
// processes, and the ranges that they fetch afterwards may move the counter past the highest id
// that this process knows. So after a range went back, the tag accepts only ranges far above that
// id: there the counter must have been raised by an operator.
type guard struct{ origins map[int]origin } // by Range.Origin

// origin is what is known of one counter. The zero value stands for a counter without a range.
type origin struct {
	high int64 // end of the highest range, the least From of the next one
	back bool  // a range went back, and none was admitted since
}

// repairGap is how far above the highest known id a counter that went back has to be raised.
const repairGap = 1_000_000

// admit records r as handed out, or returns why its ids must not be. Ranges of a tag arrive in the
// order in which the source handed them out, because a tag has one fetch under way at a time.
//
//	range           of the source        admitted
//	[1000, 2000)    begins               yes: high is 2000
//	[2000, 3000)    goes on              yes: high is 3000
//	[1500, 2500)    went back            no, and from now on nothing below 1,003,000
//	[3000, 4000)    went on meanwhile    no
//	[1003000, ...)  was raised           yes
//
// Each origin is judged for itself: a server that went back says nothing of the others, and a range
// of another one is no repair. A range that is refused changes nothing but back: its ids are a gap,
// because the source has handed them out.
func (g *guard) admit(r Range) error {
	if err := r.Validate(); err != nil {
		return err
	}
	o := g.origins[r.Origin]
	if g.origins == nil {
		g.origins = make(map[int]origin, 1)
	}
	if !r.Cyclic && r.From < o.floor() {
		o.back = true
		g.origins[r.Origin] = o
		return fmt.Errorf("%w: %v begins below %d, up to where ids are in use; "+
			"raise the counter above every id in use, and to %d or more",
			ErrRangeWentBack, r, o.high, o.floor())
	}
	g.origins[r.Origin] = origin{high: r.To}
	return nil
}

// floor returns the least id that the origin's next range may begin with.
func (o origin) floor() int64 {
	if o.back {
		return o.high + min(repairGap, math.MaxInt64-o.high)
	}
	return o.high
}
