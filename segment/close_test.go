package segment_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
)

// TestClose: waiting calls are woken, every call fails with ErrClosed, all goroutines end, and a
// second Close does nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine is left over
		f := newFake(10)
		g := segtest.New(t, f, &segment.Options{MaxStep: 1})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f.set(func(f *fake) { f.latency = time.Hour })
		segtest.Next(t, g, "a", 20)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if id, err := tag.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
					t.Errorf("a Next that waits = %d, %v, want ErrClosed", id, err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		for range 2 {
			if err := g.Close(); err != nil {
				t.Errorf("Close = %v", err)
			}
		}
		wg.Wait()
		if took := time.Since(begin); took != 0 {
			t.Errorf("Close took %v, want no wait for a fetch", took)
		}
		prefetch, _ := tag.Late()
		prefetch()
		if stats(t, g, "a").Loading {
			t.Error("a fetch is under way after Close")
		}
		for name, call := range map[string]func() error{
			"Next":     func() error { _, err := g.Next(t.Context(), "a"); return err },
			"Next new": func() error { _, err := g.Next(t.Context(), "b"); return err },
			"Fill":     func() error { _, err := g.Fill(t.Context(), "a", make([]int64, 3)); return err },
			"Tag.Next": func() error { _, err := tag.Next(t.Context()); return err },
			"Tag.Fill": func() error { _, err := tag.Fill(t.Context(), make([]int64, 3)); return err },
			"Refresh":  func() error { return g.Refresh(t.Context()) },
		} {
			if err := call(); !errors.Is(err, segment.ErrClosed) {
				t.Errorf("%s after Close = %v, want ErrClosed", name, err)
			}
		}
	})
}

// TestCloseWithIDsLeft: ids that are left when Close begins are not handed out.
func TestCloseWithIDsLeft(t *testing.T) {
	t.Parallel()
	g := segtest.New(t, newFake(1000), nil)
	tag, err := g.Tag(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	segtest.Next(t, g, "a", 10)
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if id, err := tag.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("Next after Close = %d, %v, want ErrClosed", id, err)
	}
	if n, err := g.Fill(t.Context(), "a", make([]int64, 10)); n != 0 || !errors.Is(err, segment.ErrClosed) {
		t.Errorf("Fill after Close = %d, %v, want 0 and ErrClosed", n, err)
	}
	if s := stats(t, g, "a"); s.Left != 0 || !errors.Is(s.Err, segment.ErrClosed) {
		t.Errorf("the figures after Close are %+v, want none left and ErrClosed", s)
	}
}

// TestCloseWithoutDatabase: if the source does not answer, Close waits for FetchTimeout once and not
// once per tag, and Shutdown until its ctx ends.
func TestCloseWithoutDatabase(t *testing.T) {
	t.Parallel()
	for want, end := range map[time.Duration]func(*segment.Generator) error{
		3 * time.Second: (*segment.Generator).Close,
		time.Second: func(g *segment.Generator) error {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			return g.Shutdown(ctx)
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(10)
			g, err := segment.New(t.Context(), slowReturn{f},
				&segment.Options{Checkpoint: true, FetchTimeout: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 20 {
				name := fmt.Sprint("tag", i)
				f.set(func(f *fake) { f.tags[name] = &segment.Row{Tag: name, Step: 10} })
				segtest.Next(t, g, name, 1)
			}
			synctest.Wait()
			begin := time.Now()
			err = end(g)
			if took := time.Since(begin); took != want {
				t.Errorf("closing took %v, want %v once", took, want)
			}
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "of 4 more tags") ||
				!strings.Contains(err.Error(), "of 13 more tags") {
				t.Errorf("closing = %v, want DeadlineExceeded and the number of tags that were left out", err)
			}
		})
	}
}

// TestCloseDuringFetch: a range that arrives while Close runs is given back too, before the ranges
// below it.
func TestCloseDuringFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g, err := segment.New(t.Context(), deaf{f}, &segment.Options{Checkpoint: true, MaxStep: 1})
		if err != nil {
			t.Fatal(err)
		}
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.latency = time.Second })
		segtest.Next(t, g, "a", 11) // into the second range, so that the third is being fetched
		synctest.Wait()
		if err := g.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if f.tags["a"].Next != 12 || f.calls != 3 {
			t.Errorf("after 12 ids and %d fetches the source's counter is at %d, want 12 after 3",
				f.calls, f.tags["a"].Next)
		}
	})
}

// TestCloseWaitsForFetch: with Checkpoint, Close gives a range back whose fetch was under way, from a
// source that has moved its counter when its call is cancelled. It waits for half of its time. Without
// Checkpoint it waits for nothing.
func TestCloseWaitsForFetch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		checkpoint  bool
		latency     time.Duration
		next, calls int64
		took        time.Duration
	}{
		"slow":          {true, 3 * time.Second, 2, 2, 3 * time.Second},
		"frozen":        {true, time.Hour, 20, 2, 5 * time.Second},
		"no checkpoint": {false, 3 * time.Second, 20, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(10)
				g, err := segment.New(t.Context(), late{f, c.latency},
					&segment.Options{Checkpoint: c.checkpoint, MaxStep: 1, Refresh: -1})
				if err != nil {
					t.Fatal(err)
				}
				ids := segtest.Next(t, g, "a", 2)
				synctest.Wait() // the second range is being fetched
				begin := time.Now()
				if err := g.Close(); err != nil {
					t.Errorf("Close = %v", err)
				}
				if took := time.Since(begin); took != c.took {
					t.Errorf("Close took %v, want %v", took, c.took)
				}
				if got := f.tags["a"].Next; got != c.next || int64(f.calls) != c.calls {
					t.Errorf("after the ids %v and %d fetches the counter is at %d, want %d after %d", ids, f.calls,
						got, c.next, c.calls)
				}
			})
		})
	}
}

// TestCheckpoint: with Checkpoint, what is left of both ranges is given back.
func TestCheckpoint(t *testing.T) {
	t.Parallel()
	for checkpoint, want := range map[bool]int64{true: 3, false: 20} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(10)
			g, err := segment.New(t.Context(), f, &segment.Options{Checkpoint: checkpoint, MaxStep: 1})
			if err != nil {
				t.Fatal(err)
			}
			segtest.Next(t, g, "a", 3)
			synctest.Wait()
			if err := g.Close(); err != nil || f.tags["a"].Next != want {
				t.Errorf("checkpoint %v: Close = %v, and the source's counter is at %d after 3 ids, want %d",
					checkpoint, err, f.tags["a"].Next, want)
			}
		})
	}
}

// TestCloseInRound: ids that are reserved for waiting callers are given back too. Those that a
// caller was served, even if it did not run since, are not.
func TestCloseInRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		f.latency = time.Second
		g, err := segment.New(t.Context(), f, &segment.Options{Checkpoint: true, MaxStep: 1, Refresh: -1})
		if err != nil {
			t.Fatal(err)
		}
		segtest.Next(t, g, "a", 1)
		synctest.Wait()
		segtest.Next(t, g, "a", int(stats(t, g, "a").Left))
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		leave := tag.Stall()
		ids := segtest.Next(t, g, "a", 1)
		queued := make(chan error)
		go func() {
			_, err := g.Next(t.Context(), "a")
			queued <- err
		}()
		synctest.Wait() // the caller comes while the round is under way
		if s := stats(t, g, "a"); s.Used != 2 || s.Waiting != 1 {
			t.Errorf("%d ids of the range are handed out and %d callers wait, want 2 and 1", s.Used, s.Waiting)
		}
		if err := g.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if err := <-queued; !errors.Is(err, segment.ErrClosed) {
			t.Errorf("Next of a caller that waited for its round = %v, want ErrClosed", err)
		}
		leave()
		if got := f.tags["a"].Next; got != ids[0]+1 {
			t.Errorf("the source's counter is at %d after %d was handed out, want the next id", got, ids[0])
		}
	})
}

// TestFailedInRound: a lasting error of the source takes no ids away from callers that wait for
// their round.
func TestFailedInRound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var calls int64
		g := segtest.New(t, segtest.Func(func(context.Context, string, int64) (segment.Range, error) {
			calls++
			switch calls {
			case 3:
				time.Sleep(time.Second)
			case 4:
				time.Sleep(time.Second / 2)
				return segment.Range{}, fmt.Errorf("%w: as told", segment.ErrExhausted)
			}
			return segment.Range{From: calls * 10, To: calls*10 + 10}, nil
		}), &segment.Options{MaxStep: 1, Refresh: -1})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		segtest.Next(t, g, "a", 20)
		leave := tag.Stall()
		segtest.Next(t, g, "a", 1) // both wait for the third range; then the stalled caller holds up its rest
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				_, err := g.Next(t.Context(), "a")
				if i < 8 && err != nil || i >= 8 && !errors.Is(err, segment.ErrExhausted) {
					t.Errorf("caller %d for one of 8 ids: %v", i, err)
				}
			})
			synctest.Wait()
			if i == 0 {
				time.Sleep(600 * time.Millisecond)
				if s := stats(t, g, "a"); !errors.Is(s.Err, segment.ErrExhausted) || s.Waiting != 1 {
					t.Errorf("while a caller waits for its round the figures are %+v", s)
				}
			}
		}
		leave()
		wg.Wait()
	})
}

// TestCloseUnderLoad: no id that is handed out while Close runs is given back too.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFake(100_000) // so that a range is in use when Close begins
	var all []int64
	for range 20 {
		g := segtest.New(t, f, &segment.Options{MaxStep: 1, Checkpoint: true})
		var (
			mu sync.Mutex
			wg sync.WaitGroup
		)
		segtest.Next(t, g, "a", 1)
		for range 4 {
			wg.Go(func() {
				var ids []int64
				for len(ids) < 20_000/scale {
					id, err := g.Next(t.Context(), "a")
					if err != nil {
						break
					}
					ids = append(ids, id)
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, ids...)
			})
		}
		for range 100 {
			runtime.Gosched()
		}
		if err := g.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		wg.Wait()
	}
	segtest.Distinct(t, all)
}

// TestCloseManyTags: what many tags have left is given back over several connections at once, and the
// errors of many tags make a short message.
func TestCloseManyTags(t *testing.T) {
	t.Parallel()
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake(10)
			g, err := segment.New(t.Context(), latentReturn{f}, &segment.Options{Checkpoint: true})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 400 {
				name := fmt.Sprint("tag", i)
				f.set(func(f *fake) { f.tags[name] = &segment.Row{Tag: name, Step: 10} })
				segtest.Next(t, g, name, 1)
			}
			synctest.Wait()
			f.set(func(f *fake) { f.away = away })
			begin := time.Now()
			err = g.Close()
			if took := time.Since(begin); took > 6*time.Second { // 800 ranges of 100 ms, 16 at a time
				t.Errorf("Close took %v, want at most 6 s", took)
			}
			if (err != nil) != away || len(fmt.Sprint(err)) > 1000 {
				t.Errorf("Close = %.1200v, want an error of less than 1,000 bytes: %v", err, away)
			}
			for tag, row := range f.tags {
				if !away && tag != "a" && row.Next != 1 {
					t.Errorf("the counter of %s is at %d, want 1: all but one id given back", tag, row.Next)
				}
			}
		})
	}
}

// latentReturn takes 100 ms for each range that it takes back.
type latentReturn struct{ *fake }

func (l latentReturn) Return(ctx context.Context, tag string, rest segment.Range) (bool, error) {
	time.Sleep(100 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	row := l.tags[tag]
	if l.away {
		return false, segtest.ErrAway
	}
	if row.Next != rest.To {
		return false, nil
	}
	row.Next = rest.From
	return true, nil
}
