package sqlsource_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/segment"
)

// errAway is the error of a database that is away.
var errAway = errors.New("connection refused")

// sourceFunc is a Source without optional interfaces.
type sourceFunc func(ctx context.Context, tag string, step int64) (segment.Range, error)

func (f sourceFunc) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	return f(ctx, tag, step)
}

// generator returns a Generator that is closed when the test ends.
func generator(tb testing.TB, src segment.Source, opts *segment.Options) *segment.Generator {
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

// next returns n ids of tag.
func next(tb testing.TB, g *segment.Generator, tag string, n int) []int64 {
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

// distinct sorts ids and reports each one that occurs twice.
func distinct(tb testing.TB, ids []int64) {
	tb.Helper()
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			tb.Errorf("id %d occurs twice", ids[i])
		}
	}
}

// together runs the functions concurrently and waits for them.
func together(fs ...func()) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for _, f := range fs {
		wg.Go(func() {
			<-begin
			f()
		})
	}
	close(begin)
	wg.Wait()
}

// awaitQuiet waits until no fetch is under way.
func awaitQuiet(tb testing.TB, g *segment.Generator) {
	tb.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(g.Stats().Tags, func(t segment.TagStats) bool { return t.Loading }) {
			return
		}
	}
	tb.Fatal("a fetch is still under way after 10 s")
}

// refuses takes ids of tag until a call fails, and returns its error.
func refuses(tb testing.TB, g *segment.Generator, tag string) error {
	tb.Helper()
	for range 100_000 {
		if _, err := g.Next(tb.Context(), tag); err != nil {
			return err
		}
	}
	tb.Fatal("100,000 ids and no error")
	return nil
}
