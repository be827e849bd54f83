package segment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// usedUp returns a Generator over f whose tag "a" has no id left, and the ids that it handed out.
func usedUp(t *testing.T, f *fake) (*segment.Generator, []int64) {
	t.Helper()
	g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
	latency := f.latency
	f.set(func(f *fake) { f.latency = 0 })
	ids := segtest.Next(t, g, "a", 1)
	synctest.Wait()
	f.set(func(f *fake) { f.latency = latency })
	return g, append(ids, segtest.Next(t, g, "a", int(stats(t, g, "a").Left))...)
}

// TestFirstCome: waiting callers are served in the order in which they came, over as many ranges as it
// takes, and no later caller overtakes them.
func TestFirstCome(t *testing.T) {
	t.Parallel()
	for _, step := range []int64{1, 2, 7, 10, 1000} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(step)
			f.latency = time.Second
			g, before := usedUp(t, f)
			const callers = 40
			var (
				got [callers][]int64
				wg  sync.WaitGroup
			)
			for i := range callers {
				wg.Go(func() {
					got[i] = make([]int64, 1+i%3)
					if n, err := g.Fill(t.Context(), "a", got[i]); n != len(got[i]) || err != nil {
						t.Errorf("caller %d: Fill = %d, %v", i, n, err)
					}
				})
				synctest.Wait() // until the caller is in the queue
				if i == callers/2 {
					time.Sleep(1500 * time.Millisecond) // until the first range, or several, have come
				}
			}
			wg.Wait()
			last := int64(len(before)) - 1
			for i, ids := range got {
				// Only the ids from the first range that serves a caller are in its turn.
				if ids[0] <= last {
					t.Errorf("step %d: caller %d got %d, and the caller before it %d", step, i, ids[0], last)
				}
				last = ids[0]
			}
			segtest.Distinct(t, slices.Concat(got[:]...))
		})
	}
}

// TestFair: goroutines that take ids as fast as they can from a slow source get about the same number
// of ids, and none waits longer than the queue takes.
func TestFair(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		goroutines int
		step       int64
		latency    time.Duration
	}{
		{64, 100, 2 * time.Millisecond}, {64, 1, 100 * time.Microsecond}, {64, 1000, 20 * time.Millisecond},
		{2, 100, time.Millisecond}, {500, 63, time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(tt.step)
			g, all := usedUp(t, f)
			f.set(func(f *fake) { f.latency = tt.latency })
			queue := (time.Duration(int64(tt.goroutines)/tt.step) + 2) * tt.latency // the longest wait
			got := make([][]int64, tt.goroutines)
			var wg sync.WaitGroup
			end := time.Now().Add(200 * queue)
			for i := range got {
				wg.Go(func() {
					for time.Now().Before(end) {
						begin := time.Now()
						id, err := g.Next(t.Context(), "a")
						if took := time.Since(begin); err != nil || took > queue {
							t.Errorf("goroutine %d: Next = %v after %v, want an id within %v", i, err, took, queue)
							return
						}
						got[i] = append(got[i], id)
					}
				})
			}
			wg.Wait()
			least, most := len(got[0]), 0
			for _, ids := range got {
				least, most = min(least, len(ids)), max(most, len(ids))
				all = append(all, ids...)
			}
			t.Logf("%d goroutines, %d ids per %v: %d to %d ids each", tt.goroutines, tt.step, tt.latency, least, most)
			if 2*most > 3*least || least < 50 {
				t.Errorf("%d goroutines got between %d and %d ids each, want at most 1.5 times the least",
					tt.goroutines, least, most)
			}
			segtest.Distinct(t, all)
			if n := len(all); all[n-1] != int64(n-1) {
				t.Errorf("%d ids end at %d: some were lost", n, all[n-1])
			}
		})
	}
}

// TestWaitEnds: a caller whose ctx ends leaves the queue without an id. The callers after it are
// served.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		f.latency = time.Second
		g, before := usedUp(t, f)
		var (
			mu  sync.Mutex
			all = before
			wg  sync.WaitGroup
		)
		for i := range 30 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+i%3*10)*500*time.Millisecond)
				defer cancel()
				id, err := g.Next(ctx, "a")
				if i%3 == 0 {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("caller %d, whose ctx ends before the source answers: Next = %d, %v", i, id, err)
					}
					return
				}
				if err != nil {
					t.Errorf("caller %d: Next = %v", i, err)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, id)
			})
		}
		wg.Wait()
		segtest.Distinct(t, all)
		if n := len(all); n != len(before)+20 || all[n-1] != int64(n-1) {
			t.Errorf("%d ids up to %d, want %d without a gap", n, all[n-1], len(before)+20)
		}
		if s := stats(t, g, "a"); s.Waiting != 0 {
			t.Errorf("%d callers wait after all have left", s.Waiting)
		}
	})
}

// TestServedAsCtxEnds: a caller that is served at the moment its ctx ends gets its id. No id is lost.
func TestServedAsCtxEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(8)
		g, all := usedUp(t, f)
		f.set(func(f *fake) { f.latency = time.Millisecond })
		for range 500 {
			var (
				mu sync.Mutex
				wg sync.WaitGroup
			)
			for range 8 {
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond) // as the source answers
					defer cancel()
					if id, err := g.Next(ctx, "a"); err == nil {
						mu.Lock()
						defer mu.Unlock()
						all = append(all, id)
					}
				})
			}
			wg.Wait()
		}
		synctest.Wait()
		all = append(all, segtest.Next(t, g, "a", int(stats(t, g, "a").Left))...)
		segtest.Distinct(t, all)
		if n := len(all); all[n-1] != int64(n-1) {
			t.Errorf("%d ids end at %d: some were lost", n, all[n-1])
		}
	})
}

// TestRoundEnds: a served caller that does not run delays the callers that come back for more, but no
// longer than the first caller had waited for the range.
func TestRoundEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		f.latency = time.Second
		g, _ := usedUp(t, f)
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		leave := tag.Stall()
		var wg sync.WaitGroup
		for i, tt := range []struct{ comes, served time.Duration }{
			{0, time.Second}, // with the range
			{1500 * time.Millisecond, 2100 * time.Millisecond}, // while the stalled caller delays the round
			{2100 * time.Millisecond, 2100 * time.Millisecond}, // as the round ends
			{2200 * time.Millisecond, 2200 * time.Millisecond}, // by an add
		} {
			wg.Go(func() {
				time.Sleep(tt.comes)
				id, err := g.Next(t.Context(), "a")
				if took := time.Since(begin); took != tt.served || err != nil {
					t.Errorf("caller %d, which came after %v, was served after %v: %d, %v, want %v",
						i, tt.comes, took, id, err, tt.served)
				}
			})
		}
		wg.Wait()
		leave()
		if id := segtest.Next(t, g, "a", 1)[0]; id != 2005 {
			t.Errorf("the id after the five of the stalled caller and the others is %d, want 2005", id)
		}
	})
}

// TestOneWord: a range that callers had to wait for is handed out by adds once the queue is empty.
func TestOneWord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		f.latency = time.Second
		g, _ := usedUp(t, f)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() { segtest.Next(t, g, "a", 1) })
		}
		wg.Wait()
		unlock := g.Locked()
		defer unlock()
		if ids := segtest.Next(t, g, "a", 50); len(ids) != 50 {
			t.Error(fmt.Sprint(ids))
		}
	})
}
