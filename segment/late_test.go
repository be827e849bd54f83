package segment_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
)

// TestLateAwait: a caller who found nothing goes on with a range that has ids left, as one has when another caller was about to
// bring a run into a lane. They would be lost if the next range were begun.
func TestLateAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, newFake(100), &segment.Options{MaxStep: 1, Refresh: -1})
		ids := next(t, g, "a", 99)
		synctest.Wait()
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		await, _ := tag.Late()
		if err := await(t.Context()); err != nil {
			t.Errorf("await = %v with an id left", err)
		}
		if s := stats(t, g, "a"); s.Current.From != ids[0] || s.Ready.Len() != 100 {
			t.Errorf("the range in use is %v and the next one is %v, want the one that has an id left", s.Current, s.Ready)
		}
	})
}

// TestLatePrefetch: a caller who was told to fetch, and comes when the range is used up, starts no fetch on behalf of the next one.
func TestLatePrefetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		g := generator(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		_, prefetch := tag.Late()
		synctest.Wait()
		next(t, g, "a", 101)
		prefetch()
		synctest.Wait()
		if f.calls != 2 {
			t.Errorf("the source was asked %d times with one id of the second range used, want twice", f.calls)
		}
	})
}

// TestLateDrop: a tag that is dropped once more, when another one of its name has come, does not take that one along.
func TestLateDrop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, newFake(100), &segment.Options{MaxStep: 1, Refresh: -1})
		var tags [3]*segment.Tag
		for i := range tags {
			var err error
			if tags[i], err = g.Tag(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			g.Drop(tags[0])
		}
		if tags[1] == tags[0] || tags[2] != tags[1] {
			t.Errorf("a tag, the next one of its name, and who is found then: %p, %p, %p", tags[0], tags[1], tags[2])
		}
	})
}

// TestLateWait: a caller whose tag's first fetch has failed before he waits, waits for the next try. If he were to start over, a
// source that refuses at once could be asked again and again without a pause.
func TestLateWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(100)
		f.away = true
		g := generator(t, f, &segment.Options{RetryMin: time.Second, RetryMax: time.Second, Refresh: -1})
		if err := g.Open("a"); err != nil {
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

// TestOrderedRun: with Ordered a range is one run, up to the mark and from there on, the first one and the others.
func TestOrderedRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := generator(t, newFake(1000), &segment.Options{MaxStep: 1, Refresh: -1, Ordered: true})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		for r := range 2 {
			synctest.Wait()
			next(t, g, "a", 1)
			before := tag.InRun()
			next(t, g, "a", 99)
			if after := tag.InRun(); before != 98 || after != 900 {
				t.Errorf("range %d: %d and %d ids are left in the lane, want 98 and 900", r, before, after)
			}
			synctest.Wait()
			next(t, g, "a", 900)
		}
	})
}
