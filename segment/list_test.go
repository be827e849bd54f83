package segment_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// staleList is a Source whose list is older than what Fetch and Find answer.
type staleList struct {
	*fake
	list []segment.Row
}

func (s staleList) List(context.Context) ([]segment.Row, error) { return s.list, nil }

func (s staleList) Find(_ context.Context, tag string) (segment.Row, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return segment.Row{}, segtest.ErrAway
	}
	if row := s.tags[tag]; row != nil {
		return *row, nil
	}
	return segment.Row{}, segment.ErrUnknownTag
}

// TestListOlderThanTag: a tag that was added while the list was read, or was deleted and created
// again, does not count as gone. Neither does any tag while a Finder does not answer.
func TestListOlderThanTag(t *testing.T) {
	t.Parallel()
	f := staleList{fake: newFake(10)}
	f.tags["b"] = &segment.Row{Tag: "b", Step: 77}
	g := segtest.New(t, f, &segment.Options{Refresh: -1})
	handles := map[string]*segment.Tag{}
	for _, name := range []string{"a", "b"} {
		var err error
		if handles[name], err = g.Tag(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	f.set(func(f *fake) { f.tags["b"].Step = 500 })
	if err := g.Refresh(t.Context()); err != nil { // its list is empty
		t.Fatal(err)
	}
	for name, handle := range handles {
		if id, err := handle.Next(t.Context()); err != nil {
			t.Errorf("Next of %s, which the list does not have yet = %d, %v", name, id, err)
		}
	}
	if s := stats(t, g, "b"); s.BaseStep != 500 {
		t.Errorf("the step of b is %d, want 500", s.BaseStep)
	}
	f.set(func(f *fake) { f.away = true; delete(f.tags, "a") })
	if err := g.Refresh(t.Context()); !errors.Is(err, segtest.ErrAway) {
		t.Errorf("Refresh with the Finder away = %v, want segtest.ErrAway", err)
	}
	if err := g.Stats().ListErr; !errors.Is(err, segtest.ErrAway) {
		t.Errorf("Stats has the list's error %v, want segtest.ErrAway", err)
	}
	if id, err := handles["a"].Next(t.Context()); err != nil {
		t.Errorf("Next while it is unknown whether the tag is gone = %d, %v", id, err)
	}
	f.set(func(f *fake) { f.away = false })
	if err := g.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id, err := handles["a"].Next(t.Context()); !errors.Is(err, segment.ErrUnknownTag) {
		t.Errorf("Next of the tag that is gone = %d, %v, want ErrUnknownTag", id, err)
	}
}

// TestListedWarmsUp: New returns when it has listed the tags. A call does not wait for the tags whose
// ranges are fetched before its own.
func TestListedWarmsUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		var most, now int
		var mu sync.Mutex
		src := listed{func(ctx context.Context, tag string, step int64) (segment.Range, error) {
			mu.Lock()
			now++
			most = max(most, now)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			now--
			mu.Unlock()
			return f.Fetch(ctx, "a", step)
		}, nil}
		for i := range 400 {
			src.names = append(src.names, fmt.Sprint("tag", i))
		}
		begin := time.Now()
		g := segtest.New(t, src, &segment.Options{Listed: true, Refresh: -1})
		if d := time.Since(begin); d > 0 {
			t.Errorf("New took %v, want it not to wait for ranges", d)
		}
		segtest.Next(t, g, "tag399", 1)
		if d := time.Since(begin); d > time.Second {
			t.Errorf("the first id of the last tag took %v, want the second of its own fetch", d)
		}
		time.Sleep(time.Hour)
		mu.Lock()
		defer mu.Unlock()
		if most > 2*8+2 { // two ranges each
			t.Errorf("%d fetches at once, want a few", most)
		}
		for _, s := range g.Stats().Tags {
			if s.Fetches != 2 {
				t.Errorf("%s has %d ranges after an hour, want two", s.Tag, s.Fetches)
			}
		}
	})
}

// TestListed: New fetches ranges for all tags, a refresh adds new tags every 60 s, and other tags are
// refused without a fetch.
func TestListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		for i := range 50 {
			name := fmt.Sprint("tag", i)
			f.tags[name] = &segment.Row{Tag: name, Step: 10}
		}
		g := segtest.New(t, f, &segment.Options{Listed: true})
		synctest.Wait()
		if f.calls != 2*51 {
			t.Errorf("%d fetches for 51 tags, want two each", f.calls)
		}
		f.set(func(f *fake) { f.calls = 0; f.tags["b"] = &segment.Row{Tag: "b", Step: 10} })
		time.Sleep(time.Minute - time.Millisecond)
		if id, err := g.Next(t.Context(), "b"); !errors.Is(err, segment.ErrUnknownTag) || f.calls != 0 {
			t.Errorf("Next of a tag that is not in the list = %d, %v after %d fetches, want ErrUnknownTag after none",
				id, err, f.calls)
		}
		f.set(func(f *fake) { f.latency = 3 * time.Second }) // of the list and of the first range
		time.Sleep(time.Millisecond + 3500*time.Millisecond)
		if ids := segtest.Next(t, g, "b", 1); ids[0] != 0 {
			t.Errorf("the first id of a tag that the list added is %d, want 0", ids[0])
		}
	})
}

// TestListedBack: a tag that is gone is refused without a fetch, and works again after a refresh whose
// list has it. A tag whose first fetch fails stays listed.
func TestListedBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		var log bytes.Buffer
		g := segtest.New(t, f, &segment.Options{
			Listed: true, MaxStep: 1, Refresh: -1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		refresh := func() {
			t.Helper()
			if err := g.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		row := *f.tags["a"]
		f.set(func(f *fake) { delete(f.tags, "a") })
		for range 2 {
			refresh()
		}
		f.set(func(f *fake) { f.tags["a"] = &row; f.calls = 0 })
		if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrUnknownTag) || f.calls != 0 {
			t.Errorf("Next of a tag that is gone = %d, %v after %d fetches, want ErrUnknownTag after none",
				id, err, f.calls)
		}
		refresh()
		if id := segtest.Next(t, g, "a", 1)[0]; id != 20 {
			t.Errorf("the first id of a tag that the list has again is %d, want 20", id)
		}
		if n := strings.Count(log.String(), "tag is gone"); n != 1 {
			t.Errorf("the log says %d times that the tag is gone, want once: %s", n, log.String())
		}
		// A listed tag is not dropped while the source is away and no caller waits for the tag.
		f.set(func(f *fake) { f.tags["b"] = &segment.Row{Tag: "b", Step: 10}; f.fetchErr = segtest.ErrAway })
		refresh()
		time.Sleep(time.Minute)
		f.set(func(f *fake) { f.fetchErr = nil })
		segtest.Next(t, g, "b", 1)
	})
}

// TestListedTwice: a tag that the list has twice is added once, so that Close stops all of its fetches.
func TestListedTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := int64(0)
		segtest.New(t, listed{func(context.Context, string, int64) (segment.Range, error) {
			if calls++; calls > 1000 {
				panic("the fetches do not end")
			}
			if calls > 2 {
				return segment.Range{}, segtest.ErrAway
			}
			return segment.Range{From: calls * 10, To: calls*10 + 10}, nil
		}, []string{"a", "a"}}, &segment.Options{Listed: true})
		synctest.Wait()
		if calls != 2 {
			t.Errorf("the source was asked %d times, want twice for the two ranges of one tag", calls)
		}
	})
}

// TestListedFirstFetchFails: every tag gets its first range, even if the first fetch fails.
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
			return segment.Range{}, segtest.ErrAway
		}
		return segment.Range{From: calls[tag] * 10, To: calls[tag]*10 + 10}, nil
	}, names}
	g := segtest.New(t, src, &segment.Options{Listed: true, RetryMin: time.Microsecond})
	for _, name := range names {
		if _, err := g.Next(t.Context(), name); err != nil {
			t.Errorf("Next(%q) after New = %v, want an id", name, err)
		}
	}
}

// TestListFails: while the list cannot be read, no tag counts as gone.
func TestListFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		g := segtest.New(t, f, nil)
		segtest.Next(t, g, "a", 1)
		f.set(func(f *fake) { f.away = true })
		time.Sleep(10 * time.Minute)
		segtest.Next(t, g, "a", 1)
		if s := g.Stats(); !errors.Is(s.ListErr, segtest.ErrAway) || !s.Refreshed.IsZero() {
			t.Errorf("Stats has the list's error %v, last read %v, want it away and never", s.ListErr, s.Refreshed)
		}
		if err := g.Refresh(t.Context()); !errors.Is(err, segtest.ErrAway) {
			t.Errorf("Refresh = %v, want segtest.ErrAway", err)
		}
	})
}
