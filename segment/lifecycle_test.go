package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
)

// TestTagsOnDemand: a tag works when it is in the table, a second after it was unknown at the
// latest, ends within a minute when it is deleted, the last one included, and comes back when it is
// made again. The original goes on serving a deleted tag and ignores that the last one was deleted.
func TestTagsOnDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		var log bytes.Buffer
		g := generator(t, f, &segment.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		unknown := func(tag string) {
			t.Helper()
			if id, err := g.Next(t.Context(), tag); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("Next(%q) = %d, %v, want ErrUnknownTag", tag, id, err)
			}
		}
		unknown("b")
		f.set(func(f *fake) { f.tags["b"] = &segment.Row{Tag: "b", Next: 7, Step: 10} })
		time.Sleep(time.Second)
		if ids := next(t, g, "b", 1); ids[0] != 7 {
			t.Errorf("the first id of the new tag is %d, want 7", ids[0])
		}
		handle, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the second ranges have arrived
		f.set(func(f *fake) { delete(f.tags, "a"); delete(f.tags, "b") })
		next(t, g, "a", 1)
		time.Sleep(time.Minute + time.Millisecond)
		synctest.Wait()
		unknown("a")
		unknown("b")
		if id, err := handle.Next(t.Context()); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("the handle's Next = %d, %v, want ErrUnknownTag", id, err)
		}
		if n := len(g.Stats().Tags); n != 0 {
			t.Errorf("%d tags after all were deleted, want 0", n)
		}
		if !strings.Contains(log.String(), `msg="segment: tag is gone" tag=a`) {
			t.Errorf("the log is %q, want it to say that a is gone", log.String())
		}
		f.set(func(f *fake) { f.tags["a"] = &segment.Row{Tag: "a", Next: 5000, Step: 10} })
		time.Sleep(time.Second)
		if ids := next(t, g, "a", 1); ids[0] != 5000 {
			t.Errorf("the first id of the tag that was made again is %d, want 5000", ids[0])
		}
		// Made again with a counter that begins anew, its ids would repeat.
		f.set(func(f *fake) { delete(f.tags, "a") })
		if err := g.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.set(func(f *fake) { f.tags["a"] = &segment.Row{Tag: "a", Next: 0, Step: 10} })
		if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrRangeWentBack) {
			t.Errorf("Next of a tag whose counter began anew = %d, %v, want ErrRangeWentBack", id, err)
		}
	})
}

// TestTagDeletedBeforeFetch: the fetch ahead notices a deleted tag before the list does.
func TestTagDeletedBeforeFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := generator(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		next(t, g, "a", 101)
		f.set(func(f *fake) { delete(f.tags, "a") })
		next(t, g, "a", 9) // the tenth of the second range
		synctest.Wait()
		if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next = %d, %v, want ErrUnknownTag", id, err)
		}
	})
}

// TestListed: all tags are fetched for at the start, new ones come with the list every 60 s, and
// others are refused without a question.
func TestListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		for i := range 50 {
			name := fmt.Sprint("tag", i)
			f.tags[name] = &segment.Row{Tag: name, Step: 10}
		}
		g := generator(t, f, &segment.Options{Listed: true})
		synctest.Wait()
		if f.calls != 2*51 {
			t.Errorf("%d fetches for 51 tags, want two each", f.calls)
		}
		f.set(func(f *fake) { f.calls = 0; f.tags["b"] = &segment.Row{Tag: "b", Step: 10} })
		time.Sleep(time.Minute - time.Millisecond)
		if id, err := g.Next(t.Context(), "b"); !errors.Is(err, segment.ErrUnknownTag) || f.calls != 0 {
			t.Errorf("Next of a tag that is not in the list = %d, %v after %d fetches, want ErrUnknownTag after none", id, err, f.calls)
		}
		f.set(func(f *fake) { f.latency = 3 * time.Second }) // the list is slow and so is the first range
		time.Sleep(time.Millisecond + 3500*time.Millisecond)
		if ids := next(t, g, "b", 1); ids[0] != 0 {
			t.Errorf("the first id of a tag that came with the list is %d, want 0", ids[0])
		}
	})
}

// TestListedBack: a tag that is gone is refused without a question, and works again with the list
// that has it. One whose first range does not come stays listed.
func TestListedBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		var log bytes.Buffer
		g := generator(t, f, &segment.Options{Listed: true, MaxStep: 1, Refresh: -1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		refresh := func() {
			t.Helper()
			if err := g.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		next(t, g, "a", 1)
		synctest.Wait()
		row := *f.tags["a"]
		f.set(func(f *fake) { delete(f.tags, "a") })
		for range 2 {
			refresh()
		}
		f.set(func(f *fake) { f.tags["a"] = &row; f.calls = 0 })
		if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrUnknownTag) || f.calls != 0 {
			t.Errorf("Next of a tag that is gone = %d, %v after %d fetches, want ErrUnknownTag after none", id, err, f.calls)
		}
		refresh()
		if id := next(t, g, "a", 1)[0]; id != 20 {
			t.Errorf("the first id of a tag that the list has again is %d, want 20", id)
		}
		if n := strings.Count(log.String(), "tag is gone"); n != 1 {
			t.Errorf("the log says %d times that the tag is gone, want once: %s", n, log.String())
		}
		// A listed tag is not forgotten while the source is away and nobody waits for it.
		f.set(func(f *fake) { f.tags["b"] = &segment.Row{Tag: "b", Step: 10}; f.fetchErr = errAway })
		refresh()
		time.Sleep(time.Minute)
		f.set(func(f *fake) { f.fetchErr = nil })
		next(t, g, "b", 1)
	})
}

// TestManyTags: what it takes to add a tag does not grow with their number, on demand and by a
// list.
func TestManyTags(t *testing.T) {
	const tags, most = 40_000 / scale, 4 << 10
	f := newFake(10)
	for i := range tags {
		name := fmt.Sprint("tag", i)
		f.tags[name] = &segment.Row{Tag: name, Step: 10}
	}
	bytes := func(do func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do()
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / tags
	}
	g := generator(t, f, &segment.Options{Refresh: -1})
	got := bytes(func() {
		for i := range tags {
			next(t, g, fmt.Sprint("tag", i), 1)
		}
	})
	if got > most {
		t.Errorf("each of %d tags took %d bytes, want at most %d", tags, got, most)
	}
	got = bytes(func() { generator(t, f, &segment.Options{Refresh: -1, Listed: true}) })
	if got > most {
		t.Errorf("each of %d tags that were listed took %d bytes, want at most %d", tags, got, most)
	}
}

// TestListedTwice: a list that has a tag twice starts it once, so that Close finds every fetch that
// it has to end.
func TestListedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := int64(0)
		generator(t, listed{func(context.Context, string, int64) (segment.Range, error) {
			if calls++; calls > 1000 {
				panic("the fetches do not end")
			}
			if calls > 2 {
				return segment.Range{}, errAway
			}
			return segment.Range{From: calls * 10, To: calls*10 + 10}, nil
		}, []string{"a", "a"}}, &segment.Options{Listed: true})
		synctest.Wait()
		if calls != 2 {
			t.Errorf("the source was asked %d times, want twice for the two ranges of one tag", calls)
		}
	})
}

// TestListedFirstFetchFails: New waits for every tag's first range also when the first fetch fails
// before anybody waits for it.
func TestListedFirstFetchFails(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		calls = make(map[string]int64)
		names []string
	)
	for i := range 400 {
		names = append(names, fmt.Sprint("tag", i))
	}
	src := listed{func(_ context.Context, tag string, _ int64) (segment.Range, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[tag]++
		if calls[tag] == 1 {
			return segment.Range{}, errAway
		}
		return segment.Range{From: calls[tag] * 10, To: calls[tag]*10 + 10}, nil
	}, names}
	g := generator(t, src, &segment.Options{Listed: true, RetryMin: time.Microsecond})
	for _, name := range names {
		if _, err := g.Next(t.Context(), name); err != nil {
			t.Errorf("Next(%q) after New = %v, want an id", name, err)
		}
	}
}

// TestTagsBack: tags that are gone and back again each count for themselves.
func TestTagsBack(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	g := generator(t, f, &segment.Options{MaxStep: 1})
	names := []string{"order-a1", "ordep-a1", "crder-a1"}
	for i, name := range names {
		f.set(func(f *fake) { f.tags[name] = &segment.Row{Tag: name, Next: int64(i) * 1000, Step: 10} })
	}
	for round := range int64(5) {
		for i, name := range names {
			if id := next(t, g, strings.Clone(name), 1)[0]; id != int64(i)*1000+round {
				t.Errorf("id %d of %q is %d, want %d", round, name, id, int64(i)*1000+round)
			}
		}
	}
	for _, name := range names {
		f.set(func(f *fake) { delete(f.tags, name) })
		if err := g.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if id, err := g.Next(t.Context(), name); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next(%q) of a tag that is gone = %d, %v, want ErrUnknownTag", name, id, err)
		}
	}
	f.set(func(f *fake) { f.tags[names[1]] = &segment.Row{Tag: names[1], Next: 5000, Step: 10} })
	if id := next(t, g, names[1], 1)[0]; id != 5000 {
		t.Errorf("the first id of a tag that is back is %d, want 5000", id)
	}
}

// TestListFails: while the list cannot be read no tag is taken for gone.
func TestListFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		g := generator(t, f, nil)
		next(t, g, "a", 1)
		f.set(func(f *fake) { f.away = true })
		time.Sleep(10 * time.Minute)
		next(t, g, "a", 1)
		if s := g.Stats(); !errors.Is(s.ListErr, errAway) || !s.Refreshed.IsZero() {
			t.Errorf("Stats has the list's error %v, last read %v, want errAway and never", s.ListErr, s.Refreshed)
		}
		if err := g.Refresh(t.Context()); !errors.Is(err, errAway) {
			t.Errorf("Refresh = %v, want errAway", err)
		}
	})
}

// TestStartWithoutSource: New fails when the source is away. The original reports that it has
// started.
func TestStartWithoutSource(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	f.away = true
	if g, err := segment.New(t.Context(), f, &segment.Options{Listed: true}); !errors.Is(err, errAway) {
		t.Errorf("New = %v, %v, want errAway", g, err)
	}
}

// TestPermanent: what cannot get better is told at once, to those who wait too, and not asked
// again; ids that are left are handed out first.
func TestPermanent(t *testing.T) {
	t.Parallel()
	for _, want := range []error{segment.ErrExhausted, segment.ErrRangeWentBack, segment.ErrBadRange} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(10)
			g := generator(t, f, &segment.Options{MaxStep: 1})
			next(t, g, "a", 1)
			synctest.Wait()
			f.set(func(f *fake) { f.err = fmt.Errorf("row 17: %w", want); f.latency = time.Second; f.calls = 0 })
			next(t, g, "a", 19)
			for range 3 {
				if id, err := g.Next(t.Context(), "a"); !errors.Is(err, want) || !strings.Contains(err.Error(), "row 17") {
					t.Errorf("Next = %d, %v, want %v", id, err, want)
				}
			}
			if f.calls != 1 {
				t.Errorf("the source was asked %d times, want once", f.calls)
			}
			if s := stats(t, g, "a"); !errors.Is(s.Err, want) {
				t.Errorf("Stats has the error %v, want %v", s.Err, want)
			}
		})
	}
}

// TestWentBack: a source that repeats a range, overlaps the last one or goes back gets its ids
// refused, by any source.
func TestWentBack(t *testing.T) {
	t.Parallel()
	first := segment.Range{From: 100, To: 200}
	for _, tt := range []struct {
		second segment.Range
		want   error
	}{
		{segment.Range{From: 200, To: 300}, nil},
		{segment.Range{From: 500, To: 501}, nil},
		{segment.Range{From: 100, To: 200}, segment.ErrRangeWentBack},
		{segment.Range{From: 199, To: 299}, segment.ErrRangeWentBack},
		{segment.Range{From: 0, To: 50}, segment.ErrRangeWentBack},
		{segment.Range{From: 0, To: 50, Origin: 1}, nil},
		{segment.Range{From: 0, To: 50, Cyclic: true}, nil},
		{segment.Range{From: 200, To: 200}, segment.ErrBadRange},
		{segment.Range{From: 300, To: 200}, segment.ErrBadRange},
		{segment.Range{From: -10, To: 200}, segment.ErrBadRange},
		{segment.Range{From: 200, To: 300, Stride: 65536}, segment.ErrBadRange},
		{segment.Range{From: 200, To: 300, Stride: -1}, segment.ErrBadRange},
		{segment.Range{From: 200, To: math.MaxInt64}, segment.ErrBadRange},
		{segment.Range{From: 200, To: 300, Origin: -1}, segment.ErrBadRange},
	} {
		ranges := []segment.Range{first, tt.second}
		g := generator(t, sourceFunc(func(context.Context, string, int64) (segment.Range, error) {
			if len(ranges) == 0 {
				return segment.Range{}, errAway
			}
			r := ranges[0]
			ranges = ranges[1:]
			return r, nil
		}), nil)
		next(t, g, "a", 100)
		id, err := g.Next(t.Context(), "a")
		if !errors.Is(err, tt.want) || err == nil && id != tt.second.From {
			t.Errorf("after %v a source that gives %v: Next = %d, %v, want %d or %v", first, tt.second, id, err, tt.second.From, tt.want)
		}
	}
}

// TestOutageLeavesNothing: names that come up while the source is away, and that nobody waits for
// any more, are forgotten.
func TestOutageLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		f.away = true
		g := generator(t, f, nil)
		for i := range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if id, err := g.Next(ctx, fmt.Sprint("name", i)); !errors.Is(err, errAway) {
				t.Errorf("Next = %d, %v, want errAway", id, err)
			}
			cancel()
		}
		time.Sleep(5 * time.Second)
		if n := g.Known(); n != 0 {
			t.Errorf("%d names are remembered, want 0", n)
		}
		f.set(func(f *fake) { f.away = false })
		if id, err := g.Next(t.Context(), "nobody"); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next = %d, %v, want ErrUnknownTag", id, err)
		}
		synctest.Wait()
		if n := g.Known(); n != 0 {
			t.Errorf("%d names are remembered of which none had a range, want 0", n)
		}
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]*segment.Options{
		"Prefetch is 100":             {Prefetch: 100},
		"Prefetch is -1":              {Prefetch: -1},
		"MaxStep is -1":               {MaxStep: -1},
		"StepWindow is -1ns":          {StepWindow: -1},
		"FetchTimeout is -1s":         {FetchTimeout: -time.Second},
		"RetryMin is -1s":             {RetryMin: -time.Second},
		"RetryMax is 1ms, want at le": {RetryMax: time.Millisecond},
		"Refresh is -2ns":             {Refresh: -2},
	} {
		if g, err := segment.New(t.Context(), newFake(1), o); !errors.Is(err, segment.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, %v, want ErrOptions with %q", g, err, want)
		}
	}
	if _, err := segment.New(t.Context(), nil, nil); !errors.Is(err, segment.ErrOptions) {
		t.Errorf("New without a source = %v, want ErrOptions", err)
	}
	fetchOnly := sourceFunc(newFake(1).Fetch)
	if _, err := segment.New(t.Context(), fetchOnly, &segment.Options{Listed: true}); !errors.Is(err, segment.ErrOptions) {
		t.Errorf("New with Listed over a source without List = %v, want ErrOptions", err)
	}
	g := generator(t, fetchOnly, nil)
	if err := g.Refresh(t.Context()); err != nil {
		t.Errorf("Refresh over a source without List = %v, want nil", err)
	}
	if ids := next(t, g, "a", 3); ids[2] != 2 {
		t.Errorf("the third id is %d, want 2", ids[2])
	}
}

func TestRange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		r    segment.Range
		n    int64
		text string
	}{
		{segment.Range{From: 1, To: 1001}, 1000, "[1, 1001)"},
		{segment.Range{From: 1, To: 12, Stride: 2}, 6, "[1, 12) by 2"},
		{segment.Range{From: 1, To: 11, Stride: 2}, 5, "[1, 11) by 2"},
		{segment.Range{From: 1, To: 2, Stride: 9}, 1, "[1, 2) by 9"},
		{segment.Range{From: 5, To: 5}, 0, "[5, 5)"},
		{segment.Range{From: 0, To: math.MaxInt64}, math.MaxInt64, "[0, 9223372036854775807)"},
	} {
		if n := tt.r.Len(); n != tt.n || tt.r.String() != tt.text {
			t.Errorf("%v has %d ids, want %s with %d", tt.r, n, tt.text, tt.n)
		}
	}
}
