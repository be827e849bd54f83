package segment_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
)

// TestLatePrefetch: a caller that was told to fetch, and comes when the range is used up, starts no
// fetch on behalf of the next one.
func TestLatePrefetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := generator(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		next(t, g, "a", 101)
		prefetch, _ := tag.Late()
		prefetch()
		synctest.Wait()
		if f.calls != 2 {
			t.Errorf("the source was asked %d times with one id of the second range used, want twice", f.calls)
		}
	})
}

// TestLateWaiter: a caller that found nothing takes from the range that another one has put in use
// since, and has the next one fetched if that is due.
func TestLateWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, newFake(10), &segment.Options{MaxStep: 1, Refresh: -1, Prefetch: 50})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		next(t, g, "a", 11)
		_, wait := tag.Late()
		if n, err := wait(t.Context(), 20); n != 9 || err != nil {
			t.Errorf("a caller that is late got %d ids, %v, want the 9 that are left", n, err)
		}
		synctest.Wait()
		if s := stats(t, g, "a"); s.Left < 10 {
			t.Errorf("after the mark was taken by a caller that is late %d ids are there, want another range", s.Left)
		}
	})
}

// TestLateDropped: a caller that has looked a tag up which is then dropped, because the source does
// not know it, looks again.
func TestLateDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := generator(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		old, err := g.Open("b")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the source does not know b
		f.set(func(f *fake) { f.tags["b"] = &segment.Row{Tag: "b", Step: 10} })
		if id, err := old.Next(t.Context()); err != segment.ErrDropped {
			t.Errorf("Next of a tag that was dropped = %d, %v, want ErrDropped, so that the caller looks again", id, err)
		}
		time.Sleep(time.Second) // for so long b counts as unknown
		next(t, g, "b", 2)
		if tag, err := g.Open("b"); tag == old || err != nil || g.Known() != 1 {
			t.Errorf("the tag after one of its name was dropped is %p, %v, one of %d, want another one than %p", tag, err, g.Known(), old)
		}
	})
}

// TestDroppedUnseen: callers that come while a tag is dropped notice nothing of it.
func TestDroppedUnseen(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	f.away = true
	g := generator(t, f, &segment.Options{RetryMin: 1, RetryMax: 1, Refresh: -1})
	over, cancel := context.WithCancel(t.Context())
	cancel()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5000 {
				if _, err := g.Next(over, "a"); !errors.Is(err, context.Canceled) {
					t.Errorf("Next while the source is away = %v, want context.Canceled", err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// TestLateWait: a caller whose tag's first fetch has failed before it waits, waits for the next
// try. If it were to start over, a source that refuses at once could be asked again and again
// without a pause.
func TestLateWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		f.away = true
		g := generator(t, f, &segment.Options{RetryMin: time.Second, RetryMax: time.Second, Refresh: -1})
		if _, err := g.Open("a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := g.Tag(ctx, "a"); !errors.Is(err, errAway) || !errors.Is(err, context.DeadlineExceeded) || f.calls != 1 {
			t.Errorf("Tag = %v after %d calls of the source, want errAway and the end of ctx after one", err, f.calls)
		}
	})
}
