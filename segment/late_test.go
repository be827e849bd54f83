package segment_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// TestLatePrefetch: a caller that took the mark, but runs only when the range is used up, starts no
// early fetch for the range that follows.
func TestLatePrefetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		segtest.Next(t, g, "a", 101)
		prefetch, _ := tag.Late()
		prefetch()
		synctest.Wait()
		if f.calls != 2 {
			t.Errorf("%d fetches with one id of the second range used, want 2", f.calls)
		}
	})
}

// TestLateWaiter: a caller that found no id takes from the range that another caller has put in use
// since, and starts the next fetch if that is due.
func TestLateWaiter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := segtest.New(t, newFake(10), &segment.Options{MaxStep: 1, Refresh: -1, Prefetch: 50})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		segtest.Next(t, g, "a", 11)
		_, wait := tag.Late()
		if n, err := wait(t.Context(), 20); n != 9 || err != nil {
			t.Errorf("the late caller got %d ids, %v, want the 9 that are left", n, err)
		}
		synctest.Wait()
		if s := stats(t, g, "a"); s.Left < 10 {
			t.Errorf("%d ids are left after the late caller took the mark, want another range", s.Left)
		}
	})
}

// TestLateDropped: a caller repeats the look-up of a tag that was dropped since, because the source
// did not know it.
func TestLateDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		old, err := g.Open("b")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the source does not know b
		f.set(func(f *fake) { f.tags["b"] = &segment.Row{Tag: "b", Step: 10} })
		if id, err := old.Next(t.Context()); err != segment.ErrDropped {
			t.Errorf("Next of a tag that was dropped = %d, %v, want ErrDropped", id, err)
		}
		time.Sleep(time.Second) // b counts as unknown until then
		segtest.Next(t, g, "b", 2)
		if tag, err := g.Open("b"); tag == old || err != nil || g.Known() != 1 {
			t.Errorf("Open after a tag of that name was dropped = %p, %v, one of %d tags, want one other than %p",
				tag, err, g.Known(), old)
		}
	})
}

// TestDroppedUnseen: no caller sees that a tag is dropped during its call.
func TestDroppedUnseen(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	f.away = true
	g := segtest.New(t, f, &segment.Options{RetryMin: 1, RetryMax: 1, Refresh: -1})
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

// TestLateWait: if the first fetch of a tag fails before its caller waits, the caller waits for the
// next try. If it started over instead, a source that fails at once could be asked without a pause.
func TestLateWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		f.away = true
		g := segtest.New(t, f, &segment.Options{RetryMin: time.Second, RetryMax: time.Second, Refresh: -1})
		if _, err := g.Open("a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := g.Tag(ctx, "a")
		if !errors.Is(err, segtest.ErrAway) || !errors.Is(err, context.DeadlineExceeded) || f.calls != 1 {
			t.Errorf("Tag = %v after %d fetches, want segtest.ErrAway and the end of ctx after one", err, f.calls)
		}
	})
}
