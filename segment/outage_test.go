package segment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// TestLatency: calls take the same time whether the database answers in 1 ms or in 50 ms, as long as a
// range lasts longer than that. With a single buffer a call stalls at the end of each range, which is
// the spike in the original's TP999.
func TestLatency(t *testing.T) {
	t.Parallel()
	const calls, every = 100_000 / scale, time.Millisecond // 10^5 calls: ten of them are the p99.99
	run := func(latency time.Duration) (times []time.Duration, single []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(1000)
			g := segtest.New(t, f, &segment.Options{MaxStep: 1})
			f.set(func(f *fake) { f.latency = latency })
			if _, err := g.Tag(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			left := 0
			for range calls {
				time.Sleep(every)
				begin := time.Now()
				segtest.Next(t, g, "a", 1)
				times = append(times, time.Since(begin))

				begin = time.Now()
				if left == 0 {
					time.Sleep(latency) // the single buffer's caller fetches
					left = 1000
				}
				left--
				single = append(single, time.Since(begin))
			}
			if w := stats(t, g, "a").Waits; w > 1 { // one by Tag
				t.Errorf("%d calls waited at a latency of %v, want none", w-1, latency)
			}
		})
		slices.Sort(times)
		slices.Sort(single)
		return times, single
	}
	at := calls - calls/10_000
	fast, _ := run(time.Millisecond)
	slow, single := run(50 * time.Millisecond)
	if fast[at] != slow[at] || slow[calls-1] != 0 {
		t.Errorf("p99.99 is %v at 1 ms and %v at 50 ms, and the longest call %v, want none to take any time",
			fast[at], slow[at], slow[calls-1])
	}
	if single[at] < 50*time.Millisecond {
		t.Errorf("p99.99 of a single buffer is %v at 50 ms, want it to show the stall", single[at])
	}
}

// TestOutage: the database is away for ten minutes, at a step of 600 times the rate. Whenever the
// outage begins, no call fails or waits.
func TestOutage(t *testing.T) {
	t.Parallel()
	const rate, tick = 2, 5 * time.Second // ids a second, taken every 5 s; the result holds at any rate
	for start := time.Duration(0); start < 80*time.Minute; start += 55 * time.Second * scale {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(600 * rate)
			g := segtest.New(t, f, nil)
			ids := make([]int64, rate*tick/time.Second)
			serve := func(d time.Duration) {
				for begin := time.Now(); time.Since(begin) < d; time.Sleep(tick) {
					if n, err := g.Fill(t.Context(), "a", ids); n != len(ids) || err != nil {
						t.Fatalf("outage from %v on: %d of %d ids: %v", start, n, len(ids), err)
					}
				}
			}
			segtest.Next(t, g, "a", 1)
			synctest.Wait()
			serve(start)
			f.set(func(f *fake) { f.away = true })
			serve(10 * time.Minute)
			f.set(func(f *fake) { f.away = false })
			serve(5 * time.Minute)
			if s := stats(t, g, "a"); s.Waits > 1 || s.Err != nil {
				t.Errorf("outage from %v on: %d waits, error %v, want one wait for the first range",
					start, s.Waits, s.Err)
			}
		})
	}
}

// TestOutageLength: without the database, a step of 600 times the rate lasts from 9 minutes, if the
// database goes away right before a fetch, to 20 minutes, right after one. With the adapted step it
// lasts at least 18 minutes.
func TestOutageLength(t *testing.T) {
	t.Parallel()
	const rate, tick = 2, 10 * time.Second
	over, cancel := context.WithCancel(t.Context())
	cancel() // so that a call takes what is left and does not wait
	for _, tt := range []struct {
		maxStep     int64
		least, most time.Duration // least has a tick more, because the fetch comes with a tick
	}{{1, 9*time.Minute + tick, 20 * time.Minute}, {0, 18*time.Minute + tick, 76 * time.Minute}} {
		least, most := 24*time.Hour, time.Duration(0)
		for start := time.Duration(0); start < 60*time.Minute; start += tick * scale {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(600 * rate)
				g := segtest.New(t, f, &segment.Options{MaxStep: tt.maxStep})
				ids := make([]int64, rate*tick/time.Second)
				if _, err := g.Tag(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				begin := time.Now()
				for down := false; ; time.Sleep(tick) {
					if !down && time.Since(begin) == start {
						down = true
						f.set(func(f *fake) { f.away = true })
					}
					if _, err := g.Fill(over, "a", ids); err != nil {
						if !down {
							t.Fatalf("Fill before the outage: %v", err)
						}
						break
					}
				}
				lasted := time.Since(begin) - start
				least, most = min(least, lasted), max(most, lasted)
			})
		}
		if least < tt.least || most > tt.most || scale == 1 && (least != tt.least || most != tt.most) {
			t.Errorf("MaxStep %d: the ids last %v to %v, want %v to %v", tt.maxStep, least, most, tt.least, tt.most)
		}
	}
}

// TestReason: a caller that finds both ranges used up waits until its ctx ends and then gets the
// source's error too. It is served as soon as the source is back. The original answers -3 at once,
// even while its loader is about to succeed.
func TestReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g := segtest.New(t, f, &segment.Options{MaxStep: 1})
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.away = true })
		segtest.Next(t, g, "a", 19)
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		begin := time.Now()
		id, err := g.Next(ctx, "a")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, segtest.ErrAway) || !strings.Contains(err.Error(), `"a"`) {
			t.Errorf("Next with both ranges used up = %d, %v, want the ctx's error, the source's, and the tag",
				id, err)
		}
		if took := time.Since(begin); took != 700*time.Millisecond {
			t.Errorf("Next took %v, want all of its 700 ms", took)
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if id, err := g.Next(t.Context(), "a"); err != nil {
					t.Errorf("Next across the outage = %d, %v", id, err)
				}
			})
		}
		time.Sleep(time.Minute)
		if s := stats(t, g, "a"); s.Waiting != 5 || !errors.Is(s.Err, segtest.ErrAway) || s.Left != 0 {
			t.Errorf("while 5 callers wait Stats has %+v", s)
		}
		f.set(func(f *fake) { f.away = false })
		begin = time.Now()
		wg.Wait()
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("the callers were served %v after the source came back, want at most RetryMax, 2s", took)
		}

		// With a slow source, while the loader runs, the original would answer -3.
		f.set(func(f *fake) { f.latency = 300 * time.Millisecond })
		segtest.Next(t, g, "a", 100)
	})
}

// TestBackoff: while the source is away, one goroutine asks it at growing intervals, however many
// calls there are. The original asks at every call.
func TestBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.away = true; f.calls = 0 })
		failed := 0
		for range 6000 { // a call every 10 ms for a minute
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if _, err := g.Next(ctx, "a"); err != nil {
				failed++
			}
			cancel()
			time.Sleep(9 * time.Millisecond)
		}
		synctest.Wait()
		if f.calls < 25 || f.calls > 80 {
			t.Errorf("%d calls, of which %d failed, led to %d fetches in a minute, want about 45",
				6000, failed, f.calls)
		}
	})

}

// TestFailedAdds: a call that finds no id adds at most one to the word of the range in use, so that the
// word cannot overflow. The next range begins with its first id.
func TestFailedAdds(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	g := segtest.New(t, f, &segment.Options{MaxStep: 1, RetryMin: time.Millisecond})
	tag, err := g.Tag(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	segtest.AwaitQuiet(t, g)
	f.set(func(f *fake) { f.away = true })
	segtest.Next(t, g, "a", 20)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ids := make([]int64, 1000)
	before := tag.Trace()
	for range 100 {
		if _, err := tag.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Fatalf("Next = %v, want context.Canceled", err)
		}
		if n, err := tag.Fill(ctx, ids); n != 0 || !errors.Is(err, context.Canceled) {
			t.Fatalf("Fill = %d, %v, want 0 and context.Canceled", n, err)
		}
	}
	if got := tag.Trace() - before; got > 100 {
		t.Errorf("100 calls of Next and 100 of Fill added %d, want at most 100", got)
	}
	f.set(func(f *fake) { f.away = false })
	if id := segtest.Next(t, g, "a", 1)[0]; id != 20 {
		t.Errorf("the first id of the next range is %d, want 20", id)
	}
}

// TestWaits: Stats counts the calls that had to wait for a range.
func TestWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g := segtest.New(t, f, &segment.Options{MaxStep: 1, Refresh: -1})
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.latency = time.Second })
		before := stats(t, g, "a").Waits
		for range 3 { // 19 ids are left, and each call takes 30
			if _, err := g.Fill(t.Context(), "a", make([]int64, 30)); err != nil {
				t.Fatal(err)
			}
		}
		s := stats(t, g, "a")
		if ranges := (s.Current.From - 20 + 10) / 10; s.Waits-before != ranges || s.Waiting != 0 {
			t.Errorf("%d calls waited and %d still wait, want %d and 0", s.Waits-before, s.Waiting, ranges)
		}
	})
}

// TestLastRange: after a lasting error the source is not asked again, however many ids are left.
func TestLastRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		g := segtest.New(t, segtest.Func(func(context.Context, string, int64) (segment.Range, error) {
			if calls++; calls > 1 {
				return segment.Range{}, fmt.Errorf("%w: as told", segment.ErrExhausted)
			}
			return segment.Range{From: 0, To: 1000}, nil
		}), nil)
		segtest.Next(t, g, "a", 1000)
		synctest.Wait()
		for range 3 {
			if id, err := g.Next(t.Context(), "a"); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("Next = %d, %v, want ErrExhausted", id, err)
			}
		}
		synctest.Wait()
		if calls != 3 {
			t.Errorf("%d fetches, want 3: one more for twice the step, and one for the source's own", calls)
		}
		if stats(t, g, "a").Loading {
			t.Error("a fetch is under way after the last one")
		}
	})
}

// TestStepWhileAway: repeated fetches from a source that is away do not change the step. Only the
// first fetch after a range that did not last doubles it.
func TestStepWhileAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(1000)
		g, err := segment.New(t.Context(), f, &segment.Options{Refresh: -1})
		if err != nil {
			t.Fatal(err)
		}
		f.set(func(f *fake) { f.away = true })
		var wg sync.WaitGroup
		wg.Go(func() { segtest.Next(t, g, "a", 2100) })
		time.Sleep(10 * time.Second)
		f.set(func(f *fake) { f.away = false })
		wg.Wait() // past the mark of the second range, which has 2000 ids
		synctest.Wait()
		f.set(func(f *fake) { f.away = true })
		segtest.Next(t, g, "a", int(stats(t, g, "a").Left))
		time.Sleep(10 * time.Second)
		if !stats(t, g, "a").Loading {
			t.Error("no fetch is under way while the source is away")
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		if stats(t, g, "a").Loading {
			t.Error("a fetch is under way after Close")
		}
		steps := slices.Compact(slices.Clone(f.asked))
		if !slices.Equal(steps, []int64{0, 2000, 4000, 8000}) || len(f.asked) < 12 {
			t.Errorf("the source was asked for %v in %d fetches, want the source's own, 2000, 4000, 8000",
				steps, len(f.asked))
		}
	})
}
