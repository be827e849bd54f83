package segment

import (
	"fmt"
	"math"
)

// guard compares each range of a tag with those that came before. Guarded by Tag.mu. The zero value
// is ready to use.
//
// A process knows its own ranges only. When a counter has lost writes, those of other processes may
// be lost as well, and the ranges that other processes fetch and use meanwhile may lift the counter
// past what this one knows. So a tag whose range went back takes ranges again only from far above:
// where an operator has raised the counter.
type guard struct {
	high map[int]int64 // by Range.Origin: the end of the highest range, where the next may begin
	back bool          // a range went back, and none has been admitted since
}

// repairGap is how far above the highest id a counter that went back has to be raised.
const repairGap = 1_000_000

// admit notes r as handed out, or returns why none of its ids may be. Ranges of a tag arrive in the
// order in which the source handed them out, because a tag has one fetch under way at a time.
func (g *guard) admit(r Range) error {
	if err := r.Validate(); err != nil {
		return err
	}
	high := g.high[r.Origin]
	if !r.Cyclic && r.From < g.floor(r.Origin) {
		g.back = true
		return fmt.Errorf("%w: %v begins below %d, up to where ids are in use; "+
			"raise the counter above every id in use, and to %d or more",
			ErrRangeWentBack, r, high, g.floor(r.Origin))
	}
	g.back = false
	if g.high == nil {
		g.high = make(map[int]int64, 1)
	}
	g.high[r.Origin] = r.To
	return nil
}

// floor is the least id that a range of origin may begin with.
func (g *guard) floor(origin int) int64 {
	high := g.high[origin]
	if g.back && high > 0 {
		return high + min(repairGap, math.MaxInt64-high)
	}
	return high
}
