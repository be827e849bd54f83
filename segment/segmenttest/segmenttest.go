// Package segmenttest is the conformance suite of segment.Source. Authors of a source call Run in a
// test. The counters must not be cyclic (Range.Cyclic). Counters is a source for tests of programs.
package segmenttest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/uidring/uidring/segment"
)

// Config says what Run tests.
type Config struct {
	// Open returns at every call a new Source over the same counters, as another process would use.
	Open func(tb testing.TB) segment.Source

	Tag     string // of a counter that exists; Run advances it
	Unknown string // of a counter that does not exist; empty if every tag exists

	// Spare is the tag of a counter that does not exist. If the Source is a Setter, Run creates
	// counters of this tag and of Spare+"-max". It expects their ranges to be as long as the step
	// that it has set.
	Spare string

	_ struct{} // keeps literals keyed
}

// Run tests a Source in subtests of t. It tests Fetch and those optional interfaces that the Source
// has, except Checker, which New calls. It does not delete what it creates: give it counters of its
// own.
func Run(t *testing.T, c Config) {
	t.Run("Rising", c.rising)
	t.Run("Disjoint", c.disjoint)
	if c.Unknown != "" {
		t.Run("Unknown", c.unknown)
	}
	t.Run("Cancelled", c.cancelled)
	src := c.Open(t)
	if setter, ok := src.(segment.Setter); ok {
		t.Run("Set", func(t *testing.T) { c.set(t, src, setter) })
		t.Run("Exhausted", func(t *testing.T) { c.exhausted(t, src, setter) })
	}
	if returner, ok := src.(segment.Returner); ok {
		t.Run("Return", func(t *testing.T) { c.giveBack(t, src, returner) })
	}
}

// rising: ranges are well formed, hold ids, and those of one origin lie above each other.
func (c Config) rising(t *testing.T) {
	src := c.Open(t)
	high := map[int]int64{}
	for _, step := range []int64{0, 1, 2, 0, 1000, 7, 0} {
		r := fetch(t, src, c.Tag, step)
		if r.From < 0 || r.Len() < 1 {
			t.Errorf("Fetch(step %d) = %v, want 0 <= From < To", step, r)
		}
		if r.From < high[r.Origin] {
			t.Errorf("Fetch(step %d) = %v, want it above %d", step, r, high[r.Origin])
		}
		high[r.Origin] = r.To
	}
}

// disjoint: no id is in two of the ranges that several processes fetch at the same time.
func (c Config) disjoint(t *testing.T) {
	const processes, fetches = 4, 40
	var (
		mu  sync.Mutex
		ids []int64
		wg  sync.WaitGroup
	)
	for range processes {
		src := c.Open(t)
		for range 2 {
			wg.Go(func() {
				for i := range fetches {
					r, err := src.Fetch(t.Context(), c.Tag, int64(i%3))
					if err != nil {
						t.Errorf("Fetch: %v", err)
						return
					}
					mu.Lock()
					ids = appendIDs(ids, r)
					mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			t.Errorf("id %d is in two ranges", ids[i])
		}
	}
	if want := processes * 2 * fetches; len(ids) < want {
		t.Errorf("%d fetches gave %d ids, want at least one each", want, len(ids))
	}
}

func (c Config) unknown(t *testing.T) {
	src := c.Open(t)
	for range 2 { // the first answer must not create the tag
		if r, err := src.Fetch(t.Context(), c.Unknown, 10); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Fetch of an unknown tag = %v, %v, want ErrUnknownTag", r, err)
		}
	}
	if finder, ok := src.(segment.Finder); ok {
		if row, err := finder.Find(t.Context(), c.Unknown); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Find of an unknown tag = %v, %v, want ErrUnknownTag", row, err)
		}
	}
	if r, err := src.Fetch(t.Context(), "", 10); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Fetch of the empty tag = %v, %v, want ErrUnknownTag", r, err)
	}
}

// cancelled: Fetch ends with its ctx, and works with the next one.
func (c Config) cancelled(t *testing.T) {
	src := c.Open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := src.Fetch(ctx, c.Tag, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("Fetch with a cancelled ctx = %v, %v, want context.Canceled", r, err)
	}
	fetch(t, src, c.Tag, 1)
}

// set: a Setter creates a tag, changes its step, raises its counter and refuses to lower it. A
// Lister and a Finder return the changed row.
func (c Config) set(t *testing.T, src segment.Source, setter segment.Setter) {
	err := setter.Set(t.Context(), segment.Row{Tag: c.Spare, Next: 5000})
	if !errors.Is(err, segment.ErrOptions) {
		t.Errorf("Set of a new tag without a step = %v, want ErrOptions", err)
	}
	set(t, setter, segment.Row{Tag: c.Spare, Next: 5000, Step: 100})
	set(t, setter, segment.Row{Tag: c.Spare, Next: 5000, Step: 100})
	if r := fetch(t, src, c.Spare, 0); r.From != 5000 || r.To != 5100 {
		t.Errorf("the first range is %v, want [5000, 5100)", r)
	}
	for _, step := range []int64{10, 1000} { // down and up
		set(t, setter, segment.Row{Tag: c.Spare, Step: step})
	}
	if r := fetch(t, src, c.Spare, 0); r.From != 5100 || r.To != 6100 {
		t.Errorf("the range after the step was set to 1000 is %v, want [5100, 6100)", r)
	}
	err = setter.Set(t.Context(), segment.Row{Tag: c.Spare, Next: 6099})
	if !errors.Is(err, segment.ErrRangeWentBack) {
		t.Errorf("Set below the counter = %v, want ErrRangeWentBack", err)
	}
	set(t, setter, segment.Row{Tag: c.Spare, Next: 9000})
	c.list(t, src, segment.Row{Tag: c.Spare, Next: 9000, Step: 1000})
	if r := fetch(t, c.Open(t), c.Spare, 0); r.From != 9000 || r.To != 10000 {
		t.Errorf("the range after the counter was set to 9000 is %v, want [9000, 10000)", r)
	}
}

func (c Config) list(t *testing.T, src segment.Source, want segment.Row) {
	t.Helper()
	if finder, ok := src.(segment.Finder); ok {
		if row, err := finder.Find(t.Context(), want.Tag); row != want || err != nil {
			t.Errorf("Find = %v, %v, want %v", row, err, want)
		}
	}
	lister, ok := src.(segment.Lister)
	if !ok {
		return
	}
	rows, err := lister.List(t.Context())
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	if !slices.Contains(rows, want) {
		t.Errorf("List = %v, want %v among them", rows, want)
	}
	if !slices.IsSortedFunc(rows, func(a, b segment.Row) int { return cmp.Compare(a.Tag, b.Tag) }) {
		t.Errorf("List = %v, want it in the order of Tag", rows)
	}
}

// giveBack: a Returner takes back the end of its newest range, once, and of no other range.
func (c Config) giveBack(t *testing.T, src segment.Source, returner segment.Returner) {
	other := c.Open(t)
	for _, tt := range []struct {
		name    string
		between func() // what happens before the return
		want    bool
	}{
		{"newest range", func() {}, true},
		{"a later range of another process", func() { fetch(t, other, c.Tag, 0) }, false},
		{"a later range of this process", func() { fetch(t, src, c.Tag, 0) }, false},
	} {
		r := fetch(t, src, c.Tag, 0)
		rest := r
		rest.From += r.Len() / 2
		tt.between()
		for try, want := range []bool{tt.want, false} {
			if got, err := returner.Return(t.Context(), c.Tag, rest); got != want || err != nil {
				t.Errorf("%s: Return number %d = %v, %v, want %v", tt.name, try+1, got, err, want)
			}
		}
		after := fetch(t, src, c.Tag, 0)
		if tt.want && after.From != rest.From {
			t.Errorf("%s: the range after the return is %v, want it to begin at %d",
				tt.name, after, rest.From)
		}
		if !tt.want && after.From < rest.To {
			t.Errorf("%s: the range after the refused return is %v, want it from %d on",
				tt.name, after, rest.To)
		}
	}
}

// exhausted: a counter fails with ErrExhausted before 2^63 and does not overflow.
func (c Config) exhausted(t *testing.T, src segment.Source, setter segment.Setter) {
	tag := c.Spare + "-max"
	set(t, setter, segment.Row{Tag: tag, Next: math.MaxInt64 - 250, Step: 100})
	for i := range int64(2) {
		if r := fetch(t, src, tag, 0); r.From != math.MaxInt64-250+100*i {
			t.Errorf("range %d is %v, want it from 2^63-1-250+%d on", i, r, 100*i)
		}
	}
	for range 2 {
		if r, err := src.Fetch(t.Context(), tag, 0); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Fetch beyond 2^63-1 = %v, %v, want ErrExhausted", r, err)
		}
	}
}

func fetch(t *testing.T, src segment.Source, tag string, step int64) segment.Range {
	t.Helper()
	r, err := src.Fetch(t.Context(), tag, step)
	if err != nil {
		t.Fatalf("Fetch(%q, %d): %v", tag, step, err)
	}
	return r
}

func set(t *testing.T, s segment.Setter, row segment.Row) {
	t.Helper()
	if err := s.Set(t.Context(), row); err != nil {
		t.Fatalf("Set(%v): %v", row, err)
	}
}

// appendIDs appends the ids of r.
func appendIDs(ids []int64, r segment.Range) []int64 {
	stride := max(r.Stride, 1)
	for id := r.From; id < r.To; id += stride {
		ids = append(ids, id)
	}
	return ids
}
