package segment_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// TestGeneratorConformance: a Generator is a Source, while it hands out ids of the same tag itself.
func TestGeneratorConformance(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	segmenttest.Run(t, segmenttest.Config{
		Open: func(tb testing.TB) segment.Source {
			g := segtest.New(tb, f, nil)
			segtest.Next(tb, g, "a", 15)
			return g
		},
		Tag: "a", Unknown: "nobody",
	})
}

// TestFetch: a range comes from the source, with its step. A step out of range is refused, and an
// unknown name leaves nothing behind.
func TestFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g := segtest.New(t, f, &segment.Options{MaxStep: 10, FetchTimeout: time.Second})
		for step, want := range map[int64]int64{0: 10, 7: 7} {
			if r, err := g.Fetch(t.Context(), "a", step); err != nil || r.Len() != want || r.Step != 10 {
				t.Errorf("Fetch(step %d) = %v, %v, want %d ids", step, r, err, want)
			}
		}
		for _, step := range []int64{-1, segbound.Span + 1} {
			if r, err := g.Fetch(t.Context(), "a", step); !errors.Is(err, segment.ErrOptions) {
				t.Errorf("Fetch(step %d) = %v, %v, want ErrOptions", step, r, err)
			}
		}
		calls := f.calls
		for range 3 {
			if _, err := g.Fetch(t.Context(), "nobody", 0); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("Fetch of an unknown tag = %v, want ErrUnknownTag", err)
			}
		}
		if g.Known() != 0 || f.calls != calls+1 {
			t.Errorf("%d tags are known after %d fetches, want 0 after 1", g.Known(), f.calls-calls)
		}
		f.set(func(f *fake) { f.latency = time.Hour })
		begin := time.Now()
		_, err := g.Fetch(t.Context(), "a", 0)
		if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("Fetch from a source that hangs = %v after %v, want FetchTimeout, 1s", err, took)
		}
		f.set(func(f *fake) { f.latency = 0; f.err = segtest.ErrAway })
		if _, err := g.Fetch(t.Context(), "a", 0); !errors.Is(err, segtest.ErrAway) {
			t.Errorf("Fetch = %v, want %v", err, segtest.ErrAway)
		}
	})
}

// finding is a fake that finds rows.
type finding struct {
	*fake

	finds int
}

func (f *finding) Find(_ context.Context, tag string) (segment.Row, error) {
	f.finds++
	r, ok := f.tags[tag]
	if !ok {
		return segment.Row{}, segment.ErrUnknownTag
	}
	return *r, nil
}

// TestFetchCut: a client does not use a counter up with one range. Its step is cut to MaxStep, or to a
// million or twice the row's own step, and never below that step. The row is looked at only for a step
// that may be too large.
func TestFetchCut(t *testing.T) {
	t.Parallel()
	const million = 1_000_000
	for _, tt := range []struct {
		max, own, step, want int64
		finds                int
	}{
		{0, 10, million, million, 0},
		{0, 10, million + 1, million, 1},
		{0, 10, segbound.Span, million, 1},
		{0, 700_000, segbound.Span, 1_400_000, 1},
		{0, segbound.Span, segbound.Span, segbound.Span, 1},
		{500, 10, 500, 500, 0},
		{500, 10, 501, 500, 1},
		{500, 10, 0, 10, 0},
		{1, 10, 7, 7, 1},
		{1, 10, 11, 10, 1},
	} {
		f := &finding{fake: newFake(tt.own)}
		g := segtest.New(t, f, &segment.Options{MaxStep: tt.max, Refresh: -1})
		r, err := g.Fetch(t.Context(), "a", tt.step)
		if err != nil || r.Len() != tt.want || f.finds != tt.finds {
			t.Errorf("Fetch(step %d) with MaxStep %d of a row with step %d = %v, %v after %d looks at the row, "+
				"want %d ids after %d", tt.step, tt.max, tt.own, r, err, f.finds, tt.want, tt.finds)
		}
		if _, err := g.Fetch(t.Context(), "nobody", segbound.Span); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Fetch of an unknown tag = %v, want ErrUnknownTag", err)
		}
	}
	g := segtest.New(t, newFake(10), &segment.Options{MaxStep: 5, Refresh: -1})
	if r, err := g.Fetch(t.Context(), "a", 11); err != nil || r.Len() != 5 {
		t.Errorf("Fetch(step 11) with MaxStep 5 from a source that finds no rows = %v, %v, want 5 ids", r, err)
	}
}

// TestFetchBounds: names that the Generator does not use are fetched a few at a time. Tags in use do
// not wait for them.
func TestFetchBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		c := &crowded{fake: f}
		g := segtest.New(t, c, &segment.Options{MaxStep: 1, Refresh: -1})
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.latency = 100 * time.Millisecond })
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				if r, err := g.Fetch(t.Context(), fmt.Sprint("name", i), 0); !errors.Is(err, segment.ErrUnknownTag) {
					t.Errorf("Fetch of an unknown name = %v, %v, want ErrUnknownTag", r, err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		if _, err := g.Fetch(t.Context(), "a", 0); err != nil || time.Since(begin) > 100*time.Millisecond {
			t.Errorf("Fetch of a tag in use = %v after %v, want no wait for unknown names", err, time.Since(begin))
		}
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := g.Fetch(short, "name", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Fetch while unknown names wait = %v, want DeadlineExceeded", err)
		}
		wg.Wait()
		if most := c.most.Load(); most > 8 {
			t.Errorf("%d names were fetched at a time, want at most 8", most)
		}
	})
}

// TestFetchClosed: a closed Generator hands out no range, and neither does one with Listed for a tag
// that is not in the list.
func TestFetchClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g := segtest.New(t, f, &segment.Options{Listed: true})
		f.set(func(f *fake) { f.tags["b"] = &segment.Row{Tag: "b", Step: 10} })
		if r, err := g.Fetch(t.Context(), "b", 0); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Fetch of a tag that is not listed = %v, %v, want ErrUnknownTag", r, err)
		}
		synctest.Wait()
		f.set(func(f *fake) { f.latency = time.Second })
		var wg sync.WaitGroup
		wg.Go(func() {
			if r, err := g.Fetch(t.Context(), "a", 0); !errors.Is(err, segment.ErrClosed) {
				t.Errorf("Fetch during Close = %v, %v, want ErrClosed", r, err)
			}
		})
		synctest.Wait()
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if r, err := g.Fetch(t.Context(), "a", 0); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Fetch after Close = %v, %v, want ErrClosed", r, err)
		}
		if _, err := g.Next(t.Context(), "b"); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Next of a tag that is not listed, after Close = %v, want ErrClosed", err)
		}
	})
}
