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

	"github.com/uidring/uidring/segment"
)

// TestClose: calls that wait are woken, every call fails with ErrClosed, goroutines end, and a second Close does nothing.
func TestClose(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left over
		f := newFake(10)
		g := generator(t, f, &segment.Options{MaxStep: 1})
		tag, err := g.Tag(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f.set(func(f *fake) { f.latency = time.Hour })
		next(t, g, "a", 20)
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

// TestCloseWithIDsLeft: the ids that are left when Close begins are not handed out.
func TestCloseWithIDsLeft(t *testing.T) {
	t.Parallel()
	g := generator(t, newFake(1000), nil)
	tag, err := g.Tag(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	next(t, g, "a", 10)
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

// TestCloseWithoutDatabase: giving ids back waits for a source that does not answer once, not once per tag.
func TestCloseWithoutDatabase(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g, err := segment.New(t.Context(), slowReturn{f}, &segment.Options{Checkpoint: true, FetchTimeout: 3 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			name := fmt.Sprint("tag", i)
			f.set(func(f *fake) { f.tags[name] = &segment.Row{Tag: name, Step: 10} })
			next(t, g, name, 1)
		}
		synctest.Wait()
		begin := time.Now()
		err = g.Close()
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("Close took %v, want the FetchTimeout of 3s once", took)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "19 more tags") {
			t.Errorf("Close = %v, want DeadlineExceeded and the number of tags that were left out", err)
		}
	})
}

// TestCloseDuringFetch: a range that arrives while Close runs is given back too, before what it lies above.
func TestCloseDuringFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake(10)
		g, err := segment.New(t.Context(), deaf{f}, &segment.Options{Checkpoint: true, MaxStep: 1})
		if err != nil {
			t.Fatal(err)
		}
		next(t, g, "a", 1)
		synctest.Wait()
		f.set(func(f *fake) { f.latency = time.Second })
		next(t, g, "a", 11) // into the second range, so that the third is being fetched
		synctest.Wait()
		if err := g.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		if f.tags["a"].Next != 12 || f.calls != 3 {
			t.Errorf("after 12 ids and %d fetches the source's counter is at %d, want 12 after 3", f.calls, f.tags["a"].Next)
		}
	})
}

// TestCloseUnderLoad: ids that were handed out while Close ran are not given back as well.
func TestCloseUnderLoad(t *testing.T) {
	t.Parallel()
	f := newFake(100_000) // so that Close meets a range in use
	var all []int64
	for range 20 {
		g := generator(t, f, &segment.Options{MaxStep: 1, Checkpoint: true})
		var (
			mu sync.Mutex
			wg sync.WaitGroup
		)
		next(t, g, "a", 1)
		for range 4 {
			wg.Go(func() {
				var ids []int64
				for len(ids) < 20_000 {
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
	distinct(t, all)
}

// TestRestart: a restart goes on at the source's counter, which leaves a gap; with Checkpoint there is none, unless another
// process has fetched since.
func TestRestart(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 1000)")
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 1000)")
	for name, tt := range map[string]struct {
		src   segment.Source
		first int64
	}{
		"LeafAlloc": {segment.LeafAlloc(db, nil), 1},
		"Sequence":  {segment.Sequence(db, nil), 1000},
	} {
		start := func(checkpoint bool) *segment.Generator {
			g := generator(t, tt.src, &segment.Options{MaxStep: 1, Checkpoint: checkpoint})
			return g
		}
		takeAndClose := func(g *segment.Generator, want int64) {
			t.Helper()
			ids := next(t, g, "a", 50)
			if ids[0] != want {
				t.Errorf("%s: the first id is %d, want %d", name, ids[0], want)
			}
			awaitQuiet(t, g)
			if err := g.Close(); err != nil {
				t.Errorf("%s: Close: %v", name, err)
			}
		}
		at := tt.first
		takeAndClose(start(false), at)
		at += 2000 // both buffers are lost
		takeAndClose(start(true), at)
		at += 50 // nothing is
		g := start(true)
		next(t, g, "a", 1)
		awaitQuiet(t, g)
		other := start(false)
		next(t, other, "a", 1)
		awaitQuiet(t, other)
		if err := g.Close(); err != nil {
			t.Errorf("%s: Close after another process fetched: %v", name, err)
		}
		takeAndClose(start(true), at+4000) // refused, because the counter has moved on
	}
}
