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
	high int64     // end of the highest range, the least From of the next one
	back bool      // a range went back, and none was admitted since
	used []stretch // holds every id of the admitted ranges; rising, at most maxStretches
}

// stretch is a superset of the ids of neighbouring ranges: from, from+stride and so on, below to.
type stretch struct{ from, to, stride int64 }

const (
	// repairGap is how far above the highest known id a counter that went back has to be raised.
	repairGap = 1_000_000

	// maxStretches bounds what is kept of an origin. A ticket server begins another stretch when
	// its step is changed and when its counter was raised, which is rare.
	maxStretches = 8
)

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
// of another one is no repair. But the word of a source that two ranges come from independent
// counters does not make their ids different: origins whose ranges overlap must count in steps that
// keep them apart, as ticket servers do. A range that is refused changes nothing but back: its ids
// are a gap, because the source has handed them out.
func (g *guard) admit(r Range) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if r.Cyclic {
		return nil // its ids repeat by design
	}
	o := g.origins[r.Origin]
	if g.origins == nil {
		g.origins = make(map[int]origin, 1)
	}
	if r.From < o.floor() {
		o.back = true
		g.origins[r.Origin] = o
		return fmt.Errorf("%w: %v begins below %d, up to where ids are in use; "+
			"raise the counter above every id in use, and to %d or more",
			ErrRangeWentBack, r, o.high, o.floor())
	}
	ids := stretch{r.From, r.To, r.stride()}
	for i, other := range g.origins {
		if i == r.Origin {
			continue
		}
		for _, u := range other.used {
			if u.meets(ids) {
				return fmt.Errorf("%w: %v of Origin %d may have ids of Origin %d, which were in %v",
					ErrBadRange, r, r.Origin, i, Range{From: u.from, To: u.to, Stride: u.stride})
			}
		}
	}
	g.origins[r.Origin] = origin{high: r.To, used: extend(o.used, ids)}
	return nil
}

// floor returns the least id that the origin's next range may begin with.
func (o origin) floor() int64 {
	if o.back {
		return o.high + min(repairGap, math.MaxInt64-o.high)
	}
	return o.high
}

// extend adds s, which lies above all of used, to the last stretch if that counts in the same steps
// and is near, and else as another one. Where those are too many, the two lowest become one.
func extend(used []stretch, s stretch) []stretch {
	if n := len(used); n > 0 {
		last := used[n-1]
		same := last.stride == s.stride && (s.from-last.from)%s.stride == 0
		if same && s.from-last.to < repairGap {
			used[n-1].to = s.to
			return used
		}
	}
	if len(used) == maxStretches {
		a, b := used[0], used[1]
		used[1] = stretch{a.from, b.to, gcd(gcd(a.stride, b.stride), b.from-a.from)}
		used = used[1:]
	}
	return append(used, s)
}

// meets reports whether an id may be in both a and b: where they overlap, and their steps do not
// keep them apart.
func (a stretch) meets(b stretch) bool {
	return a.from < b.to && b.from < a.to && (a.from-b.from)%gcd(a.stride, b.stride) == 0
}

// gcd returns the greatest common divisor of a, above 0, and b.
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
