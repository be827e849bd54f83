// Package segtest has what the tests of package segment, of its sources and of both on real
// databases share.
package segtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/segment"
)

// ErrAway is the error of a source that is away.
var ErrAway = errors.New("connection refused")

// Func is a Source without optional interfaces.
type Func func(ctx context.Context, tag string, step int64) (segment.Range, error)

// Fetch calls f.
func (f Func) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	return f(ctx, tag, step)
}

// New returns a Generator that is closed when the test ends.
func New(tb testing.TB, src segment.Source, opts *segment.Options) *segment.Generator {
	tb.Helper()
	g, err := segment.New(tb.Context(), src, opts)
	if err != nil {
		tb.Fatalf("New: %v", err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return g
}

// Next returns n ids of tag.
func Next(tb testing.TB, g *segment.Generator, tag string, n int) []int64 {
	tb.Helper()
	ids := make([]int64, n)
	for i := range ids {
		id, err := g.Next(tb.Context(), tag)
		if err != nil {
			tb.Fatalf("Next(%q) number %d: %v", tag, i, err)
		}
		ids[i] = id
	}
	return ids
}

// Distinct sorts ids and reports each one that occurs twice.
func Distinct(tb testing.TB, ids []int64) {
	tb.Helper()
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			tb.Errorf("id %d occurs twice", ids[i])
		}
	}
}

// Fetch fetches a range.
func Fetch(tb testing.TB, src segment.Source, tag string, step int64) segment.Range {
	tb.Helper()
	r, err := src.Fetch(tb.Context(), tag, step)
	if err != nil {
		tb.Fatalf("Fetch(%q, %d): %v", tag, step, err)
	}
	return r
}

// Bounds returns the text of a range's bounds.
func Bounds(r segment.Range) string { return fmt.Sprintf("[%d, %d)", r.From, r.To) }

// AwaitQuiet waits until no fetch of g is under way.
func AwaitQuiet(tb testing.TB, g *segment.Generator) {
	tb.Helper()
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(g.Stats().Tags,
			func(t segment.TagStats) bool { return t.Loading }) {
			return
		}
	}
	tb.Fatal("a fetch is still under way after 10 s")
}

// Together runs the functions concurrently. None begins before a goroutine runs for each.
func Together(fs ...func()) {
	var wg sync.WaitGroup
	var ready atomic.Int64
	for _, f := range fs {
		wg.Go(func() {
			for ready.Add(1); ready.Load() < int64(len(fs)); {
				runtime.Gosched()
			}
			f()
		})
	}
	wg.Wait()
}
