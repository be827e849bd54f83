package segment_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// crowded is a fake that records the most calls of Fetch for unknown tags that were under way at a
// time.
type crowded struct {
	*fake
	now, most atomic.Int64
}

func (c *crowded) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	if tag != "a" {
		n := c.now.Add(1)
		defer c.now.Add(-1)
		for most := c.most.Load(); n > most && !c.most.CompareAndSwap(most, n); most = c.most.Load() {
		}
	}
	return c.fake.Fetch(ctx, tag, step)
}

// TestStrangers: unknown names are fetched a few at a time, leave nothing behind, and do not delay the
// ranges of a tag in use.
func TestStrangers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		c := &crowded{fake: f}
		g := segtest.New(t, c, &segment.Options{MaxStep: 1, Refresh: -1})
		segtest.Next(t, g, "a", 1)
		f.set(func(f *fake) { f.latency = 100 * time.Millisecond })
		var wg sync.WaitGroup
		for i := range 5000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				id, err := g.Next(ctx, fmt.Sprint("name", i))
				if !errors.Is(err, segment.ErrUnknownTag) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Next of an unknown name = %d, %v", id, err)
				}
			})
		}
		begin := time.Now()
		segtest.Next(t, g, "a", 1000)
		if took := time.Since(begin); took > 1100*time.Millisecond {
			t.Errorf("1,000 ids in ranges of 100 took %v, want at most ten fetches of 100 ms", took)
		}
		wg.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		if most := c.most.Load(); most != 8 {
			t.Errorf("%d names were fetched at a time, want 8", most)
		}
		if n := g.Known(); n != 1 {
			t.Errorf("%d names are remembered, want 1", n)
		}
		if f.calls > 200 {
			t.Errorf("%d fetches, want about 8 names in each 100 ms", f.calls)
		}
	})
}

// TestUnknownAgain: an unknown name is fetched at most once a second, and at once after a refresh. The
// number of unknown names that are remembered is bounded.
func TestUnknownAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := segtest.New(t, f, &segment.Options{Refresh: -1})
		ask := func(name string, want int) {
			t.Helper()
			before := f.calls
			if id, err := g.Next(t.Context(), name); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("Next(%q) = %d, %v, want ErrUnknownTag", name, id, err)
			}
			synctest.Wait()
			if got := f.calls - before; got != want {
				t.Errorf("Next(%q) asked the source %d times, want %d", name, got, want)
			}
		}
		for range 3 {
			ask("b", 1)
			for range 9 {
				ask("b", 0)
			}
			time.Sleep(time.Second)
		}
		ask("b", 1)
		if err := g.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask("b", 1)
		for i := range 2500 {
			ask(fmt.Sprint("name", i), 1)
		}
		if n := g.Unknown(); n > 1000 {
			t.Errorf("%d unknown names are remembered, want at most 1,000", n)
		}

		// The same for a tag that the source had.
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { delete(f.tags, "a") })
		if err := g.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		ask("a", 1)
		ask("a", 0)
		time.Sleep(time.Second)
		ask("a", 1)
	})
}

// TestStrangersUnseen: names that are asked for, and have no range yet, are in no Stats. A tag that is
// in the source's list is, although its first fetch fails.
func TestStrangersUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := segtest.New(t, f, &segment.Options{Refresh: -1})
		segtest.Next(t, g, "a", 1)
		f.set(func(f *fake) { f.latency = time.Second })
		var wg sync.WaitGroup
		defer wg.Wait()
		for i := range 400 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				_, _ = g.Next(ctx, fmt.Sprint("name", i))
			})
		}
		for range 3 {
			synctest.Wait()
			if tags := g.Stats().Tags; len(tags) != 1 || tags[0].Tag != "a" {
				t.Errorf("Stats has %d tags, want a", len(tags))
			}
			time.Sleep(500 * time.Millisecond)
		}
	})
}

// TestNotText: a name that is not UTF-8 is unknown, and the source is not asked for it.
func TestNotText(t *testing.T) {
	t.Parallel()
	f := newFake(100)
	g := segtest.New(t, f, nil)
	before := f.calls
	for range 2 {
		if _, err := g.Next(t.Context(), "\xff"); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next = %v, want ErrUnknownTag", err)
		}
		if _, err := g.Fetch(t.Context(), "a\xff", 0); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Fetch = %v, want ErrUnknownTag", err)
		}
	}
	if f.calls != before {
		t.Errorf("the source was asked %d times", f.calls-before)
	}
}
