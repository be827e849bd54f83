package bitsalloc

import (
	"fmt"
	"strings"
	"time"
)

// Era is a layout and the instant from which on it is used.
type Era struct {
	From time.Time
	Layout
}

// Eras is a list of layouts that succeed one another. The ids of each lie above all ids of the ones
// before, whatever worker stamps them and whatever its clock shows, so an id tells which era it is
// of. An Eras is immutable. One era is the common case.
type Eras struct {
	eras []*Allocator
}

// NewEras returns first and the eras that succeed it. From is an era's Epoch, and comes a tick of
// the era before after that one's, or later; a FirstTick of 0 stands for the lowest one that
// After finds. All eras have the same GeneBits, and there are at most 64. Errors wrap ErrLayout.
func NewEras(first Layout, later ...Era) (*Eras, error) {
	a, err := New(first)
	if err != nil {
		return nil, err
	}
	if len(later) >= maxEras {
		return nil, fmt.Errorf("%w: %d eras, want at most %d", ErrLayout, len(later)+1, maxEras)
	}
	e := &Eras{eras: []*Allocator{a}}
	for i, era := range later {
		a, err := nextEra(e.eras[i], era)
		if err != nil {
			return nil, fmt.Errorf("era %d: %w", i+1, err)
		}
		e.eras = append(e.eras, a)
	}
	return e, nil
}

// nextEra returns the Allocator of the era after prev.
func nextEra(prev *Allocator, era Era) (*Allocator, error) {
	// Without a whole tick prev would have ids only for the rest of the tick that it cut off, and
	// After counts whole ticks.
	if prev.TickAt(era.From) <= prev.firstTick {
		return nil, fmt.Errorf("%w: From is %v, want %v or later, so that the layout before has a "+
			"whole tick",
			ErrLayout, era.From, prev.TimeAt(prev.firstTick+1))
	}
	if !era.Epoch.IsZero() && !era.Epoch.Equal(era.From) {
		return nil, fmt.Errorf("%w: Epoch is %v, want From, %v", ErrLayout, era.Epoch, era.From)
	}
	if end := prev.Expires(); end.Before(era.From) {
		return nil, fmt.Errorf("%w: From is %v, and the layout before ends at %v",
			ErrLayout, era.From, end)
	}
	lowest, err := era.Layout.After(prev.layout, era.From)
	if err != nil {
		return nil, err
	}
	if era.FirstTick != 0 {
		if era.FirstTick < lowest.FirstTick {
			return nil, fmt.Errorf("%w: FirstTick is %d, want 0 or at least %d, so that ids lie "+
				"above those of the layout before",
				ErrLayout, era.FirstTick, lowest.FirstTick)
		}
		lowest.FirstTick = era.FirstTick
	}
	return New(lowest)
}

// All returns the Allocators of the eras, the first one first. The caller must not change the
// slice.
func (e *Eras) All() []*Allocator { return e.eras }

// Of returns the Allocator of the era that id is of.
func (e *Eras) Of(id int64) *Allocator {
	for i := len(e.eras) - 1; i > 0; i-- {
		if a := e.eras[i]; id>>(a.timeShift&63) >= a.firstTick {
			return a
		}
	}
	return e.eras[0]
}

// At returns the Allocator of the era that t lies in, the first one for an instant before its
// epoch.
func (e *Eras) At(t time.Time) *Allocator {
	for i := len(e.eras) - 1; i > 0; i-- {
		if !t.Before(e.eras[i].layout.Epoch) {
			return e.eras[i]
		}
	}
	return e.eras[0]
}

// opens returns when generators begin to stamp era i, 1 or above: where the tick of the era before
// begins that From cuts off. The rest of that tick belongs to the first tick of era i.
func (e *Eras) opens(i int) time.Time {
	prev := e.eras[i-1]
	return prev.TimeAt(prev.TickAt(e.eras[i].layout.Epoch))
}

// stamped returns the Allocator of the ids that are stamped at t, and t or, if that era's epoch is
// yet to come, the epoch.
func (e *Eras) stamped(t time.Time) (*Allocator, time.Time) {
	for i := len(e.eras) - 1; i > 0; i-- {
		if t.Before(e.opens(i)) {
			continue
		}
		a := e.eras[i]
		if t.Before(a.layout.Epoch) {
			t = a.layout.Epoch
		}
		return a, t
	}
	return e.eras[0], t
}

// Between is Allocator.Between over all eras. Where From cuts a tick of the era before off, the
// rest of it counts as part of the new era's first tick, which is what is stamped then.
func (e *Eras) Between(from, to time.Time) (lo, hi int64) {
	// There is no gap between the first tick and the last: no era begins after the end of the one
	// before.
	last, oldest, newest := to.Add(-1), e.eras[0], e.eras[len(e.eras)-1]
	if !from.Before(to) || oldest.TickAt(last) < oldest.firstTick ||
		newest.TickAt(from) > newest.maxTick {
		return 1, 0
	}
	first, from := e.stamped(from)
	final, last := e.stamped(last)
	return first.First(from), final.last(last)
}

// Month returns the lowest and the highest id of a month of UTC: those whose time, the beginning of
// their tick, lies in it. So they are the rows of a monthly table. Each id that is stamped is of
// one month, and the ids of the next month begin where those of a month end. Where nothing can be
// stamped lo is 1 and hi is 0.
func (e *Eras) Month(year int, month time.Month) (lo, hi int64) {
	last := e.eras[len(e.eras)-1]
	from := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
	to, end := from.AddDate(0, 1, 0), last.TimeAt(last.maxTick)
	if from.After(end) || !to.After(e.eras[0].layout.Epoch) {
		return 1, 0
	}
	lo, hi = e.since(from), last.MaxID()
	if !to.After(end) {
		hi = e.since(to) - 1
	}
	return lo, hi
}

// since returns the lowest id whose time is t or later. t is in the last tick or before.
func (e *Eras) since(t time.Time) int64 {
	a, t := e.stamped(t)
	tick := max(a.TickAt(t), a.firstTick)
	if a.TimeAt(tick).Before(t) {
		tick++
	}
	return tick << (a.timeShift & 63)
}

// String returns the canonical texts of the eras' layouts, joined by commas. The text of one era is
// the layout's own.
func (e *Eras) String() string {
	texts := make([]string, len(e.eras))
	for i, a := range e.eras {
		texts[i] = a.layout.String()
	}
	return strings.Join(texts, ",")
}

// ParseEras reads the text that String returns. Errors wrap ErrLayout.
func ParseEras(text string) (*Eras, error) {
	texts := strings.Split(text, ",")
	if len(texts) > maxEras {
		return nil, fmt.Errorf("%w: the text has %d eras, want at most %d",
			ErrLayout, len(texts), maxEras)
	}
	first, err := ParseLayout(texts[0])
	if err != nil {
		return nil, err
	}
	var later []Era
	for _, t := range texts[1:] {
		l, err := ParseLayout(t)
		if err != nil {
			return nil, err
		}
		later = append(later, Era{From: l.Epoch, Layout: l})
	}
	return NewEras(first, later...)
}

// maxEras bounds a list of eras, before ParseEras reads the elements of a long text.
const maxEras = 64
