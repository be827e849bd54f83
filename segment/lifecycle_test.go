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
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// TestTagsOnDemand: a tag that was unknown works a second after it is added to the table. A deleted
// tag fails within a minute, also if it is the last one, and works again after it is created again.
// The original goes on serving a deleted tag, and ignores that the last one was deleted.
func TestTagsOnDemand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		var log bytes.Buffer
		g := segtest.New(t, f, &segment.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		unknown := func(tag string) {
			t.Helper()
			if id, err := g.Next(t.Context(), tag); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("Next(%q) = %d, %v, want ErrUnknownTag", tag, id, err)
			}
		}
		unknown("b")
		f.set(func(f *fake) { f.tags["b"] = &segment.Row{Tag: "b", Next: 7, Step: 10} })
		time.Sleep(time.Second)
		if ids := segtest.Next(t, g, "b", 1); ids[0] != 7 {
			t.Errorf("the first id of the new tag is %d, want 7", ids[0])
		}
		handle, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the second ranges have arrived
		f.set(func(f *fake) { delete(f.tags, "a"); delete(f.tags, "b") })
		segtest.Next(t, g, "a", 1)
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
		if ids := segtest.Next(t, g, "a", 1); ids[0] != 5000 {
			t.Errorf("the first id of the tag that was created again is %d, want 5000", ids[0])
		}
		// A tag that is created again with a counter that begins anew would repeat its ids.
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

// TestTagDeletedBeforeFetch: the prefetch notices a deleted tag before the next refresh does.
func TestTagDeletedBeforeFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		segtest.Next(t, g, "a", 101)
		f.set(func(f *fake) { delete(f.tags, "a") })
		segtest.Next(t, g, "a", 9) // up to the mark of the second range
		synctest.Wait()
		if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next = %d, %v, want ErrUnknownTag", id, err)
		}
	})
}

// TestManyTags: the memory that it takes to add a tag does not grow with the number of tags, with and
// without Listed.
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
	g := segtest.New(t, f, &segment.Options{Refresh: -1})
	got := bytes(func() {
		for i := range tags {
			segtest.Next(t, g, fmt.Sprint("tag", i), 1)
		}
	})
	if got > most {
		t.Errorf("each of %d tags took %d bytes, want at most %d", tags, got, most)
	}
	got = bytes(func() {
		listed := segtest.New(t, f, &segment.Options{Refresh: -1, Listed: true})
		for i := range tags {
			segtest.Next(t, listed, fmt.Sprint("tag", i), 1)
		}
	})
	if got > most {
		t.Errorf("each of %d tags that were listed took %d bytes, want at most %d", tags, got, most)
	}
}

// TestTagsBack: tags with similar names count independently, also after they were gone.
func TestTagsBack(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	g := segtest.New(t, f, &segment.Options{MaxStep: 1})
	names := []string{"order-a1", "ordep-a1", "crder-a1"}
	for i, name := range names {
		f.set(func(f *fake) { f.tags[name] = &segment.Row{Tag: name, Next: int64(i) * 1000, Step: 10} })
	}
	for round := range int64(5) {
		for i, name := range names {
			if id := segtest.Next(t, g, strings.Clone(name), 1)[0]; id != int64(i)*1000+round {
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
	if id := segtest.Next(t, g, names[1], 1)[0]; id != 5000 {
		t.Errorf("the first id of a tag that is back is %d, want 5000", id)
	}
}

// TestStartWithoutSource: New fails when the source is away. The original reports that it has
// started.
func TestStartWithoutSource(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	f.away = true
	if g, err := segment.New(t.Context(), f, &segment.Options{Listed: true}); !errors.Is(err, segtest.ErrAway) {
		t.Errorf("New = %v, %v, want segtest.ErrAway", g, err)
	}
}

// TestPermanent: after a lasting error, calls fail at once and waiting ones too, without another
// fetch. Ids that are left are handed out first.
func TestPermanent(t *testing.T) {
	t.Parallel()
	for _, want := range []error{segment.ErrExhausted, segment.ErrRangeWentBack, segment.ErrBadRange} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(10)
			g := segtest.New(t, f, &segment.Options{MaxStep: 1})
			segtest.Next(t, g, "a", 1)
			synctest.Wait()
			f.set(func(f *fake) { f.err = fmt.Errorf("row 17: %w", want); f.latency = time.Second; f.calls = 0 })
			segtest.Next(t, g, "a", 19)
			for range 3 {
				id, err := g.Next(t.Context(), "a")
				if !errors.Is(err, want) || !strings.Contains(err.Error(), "row 17") {
					t.Errorf("Next = %d, %v, want %v", id, err, want)
				}
			}
			if f.calls != 1 {
				t.Errorf("%d fetches, want 1", f.calls)
			}
			if s := stats(t, g, "a"); !errors.Is(s.Err, want) {
				t.Errorf("Stats has the error %v, want %v", s.Err, want)
			}
		})
	}
}

// TestWentBack: a range that repeats an earlier one, overlaps it or lies below it is refused.
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
		g := segtest.New(t, segtest.Func(func(context.Context, string, int64) (segment.Range, error) {
			if len(ranges) == 0 {
				return segment.Range{}, segtest.ErrAway
			}
			r := ranges[0]
			ranges = ranges[1:]
			return r, nil
		}), nil)
		segtest.Next(t, g, "a", 100)
		id, err := g.Next(t.Context(), "a")
		if !errors.Is(err, tt.want) || err == nil && id != tt.second.From {
			t.Errorf("after %v a source that gives %v: Next = %d, %v, want %d or %v",
				first, tt.second, id, err, tt.second.From, tt.want)
		}
	}
}

// TestOutageLeavesNothing: new names that are asked for while the source is away are dropped once no
// caller waits for them.
func TestOutageLeavesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		f.away = true
		g := segtest.New(t, f, nil)
		for i := range 100 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if id, err := g.Next(ctx, fmt.Sprint("name", i)); !errors.Is(err, segtest.ErrAway) {
				t.Errorf("Next = %d, %v, want segtest.ErrAway", id, err)
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
