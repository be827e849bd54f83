package bitsalloc

import (
	"fmt"
	"math/bits"
	"time"
)

// Above returns l with the Epoch from and the lowest FirstTick with which every id, of any worker,
// is greater than id. It moves a layout out of the way of older ids, whatever made them: new ids
// from the instant from on cannot equal them, and sort after them. The time bits below FirstTick
// are given up; Expires of the result's Allocator says what remains.
//
// The error wraps ErrLayout and says how many time bits are missing when FirstTick does not fit.
func (l Layout) Above(id int64, from time.Time) (Layout, error) {
	l.Epoch, l.FirstTick = from, 0
	a, err := New(l)
	if err != nil {
		return Layout{}, err
	}
	if id >= 0 {
		return a.startAt(uint64(id) + 1)
	}
	return a.Layout(), nil
}

// After returns l with the Epoch from and the lowest FirstTick with which each of its ids is
// greater than each id that any worker can stamp by prev before from. Processes whose clocks differ
// need no coordination: one that is still in prev stamps ticks that end at from or before, one that
// is in l stamps ids above all of these. Where prev has no whole tick before from, l's ids
// lie at prev's lowest or above.
//
// Both layouts have the same GeneBits. The error wraps ErrLayout.
func (l Layout) After(prev Layout, from time.Time) (Layout, error) {
	p, err := New(prev)
	if err != nil {
		return Layout{}, fmt.Errorf("the layout before: %w", err)
	}
	l.Epoch, l.FirstTick = from, 0
	n, err := New(l)
	if err != nil {
		return Layout{}, err
	}
	if n.layout.GeneBits != p.layout.GeneBits {
		return Layout{}, fmt.Errorf("%w: GeneBits is %d, want %d, as in the layout before",
			ErrLayout, n.layout.GeneBits, p.layout.GeneBits)
	}
	// Ticks that lie before from as a whole are the only ones that prev stamps.
	end := min(max(p.TickAt(from), p.firstTick), p.maxTick+1)
	return n.startAt(uint64(end) << (p.timeShift & 63))
}

// startAt returns the layout with the lowest FirstTick whose ids are least or above, least 1<<63 at
// the most.
func (a *Allocator) startAt(least uint64) (Layout, error) {
	first := least >> (a.timeShift & 63)
	if first<<(a.timeShift&63) < least {
		first++
	}
	if first > uint64(a.maxTick) {
		return Layout{}, fmt.Errorf("%w: ids from %d on need a FirstTick of %d, and TimeBits is "+
			"%d: %d bits are missing",
			ErrLayout, least, first, a.layout.TimeBits, bits.Len64(first)-a.layout.TimeBits)
	}
	l := a.layout
	l.FirstTick = int64(first)
	return l, nil
}

// First returns the lowest id that any worker can stamp in the tick of t. It is the lowest id of
// all for an instant before the epoch, and MaxID from Expires on.
func (a *Allocator) First(t time.Time) int64 {
	tick := max(a.TickAt(t), a.firstTick)
	if tick > a.maxTick {
		return a.MaxID()
	}
	return tick << (a.timeShift & 63)
}

// last returns the highest id that any worker can stamp in the tick of t, which is not before the
// epoch, and MaxID from Expires on.
func (a *Allocator) last(t time.Time) int64 {
	return min(a.TickAt(t), a.maxTick)<<(a.timeShift&63) | (1<<(a.timeShift&63) - 1)
}

// Between returns the lowest and the highest id that any worker can stamp from the instant from up
// to the instant to, to excluded: the bounds for WHERE id BETWEEN lo AND hi. The ticks in which
// from and to lie count as a whole, as an id does not say when in its tick it was made. Where
// nothing can be stamped lo is 1 and hi is 0, which no id lies between.
func (a *Allocator) Between(from, to time.Time) (lo, hi int64) {
	last := to.Add(-1)
	if !from.Before(to) || a.TickAt(last) < a.firstTick || a.TickAt(from) > a.maxTick {
		return 1, 0
	}
	return a.First(from), a.last(last)
}
