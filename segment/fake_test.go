package segment_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

// errAway is the error of a fake source while it is away.
var errAway = errors.New("connection refused")

// fake is a Source in memory. The test sets its latency and its outages. It is a Lister and a
// Returner.
type fake struct {
	mu       sync.Mutex
	tags     map[string]*segment.Row
	latency  time.Duration
	away     bool
	err      error   // of every call, if set
	fetchErr error   // of every Fetch, if set
	calls    int     // of Fetch
	asked    []int64 // the steps of these calls
}

// newFake returns a fake with one tag "a" at 0.
func newFake(step int64) *fake {
	return &fake{tags: map[string]*segment.Row{"a": {Tag: "a", Step: step}}}
}

func (f *fake) set(change func(*fake)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

// answer waits for the latency and returns the failure that the test has set.
func (f *fake) answer(ctx context.Context) error {
	f.mu.Lock()
	latency := f.latency
	f.mu.Unlock()
	if latency > 0 {
		select {
		case <-time.After(latency):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.away {
		return errAway
	}
	return f.err
}

func (f *fake) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	f.set(func(f *fake) { f.calls++; f.asked = append(f.asked, step) })
	if err := f.answer(ctx); err != nil {
		return segment.Range{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fetchErr != nil {
		return segment.Range{}, f.fetchErr
	}
	row := f.tags[tag]
	if row == nil {
		return segment.Range{}, fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
	}
	if step == 0 {
		step = row.Step
	}
	r := segment.Range{From: row.Next, To: row.Next + step, Step: row.Step}
	row.Next += step
	return r, nil
}

func (f *fake) List(ctx context.Context) ([]segment.Row, error) {
	if err := f.answer(ctx); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var rows []segment.Row
	for _, r := range f.tags {
		rows = append(rows, *r)
	}
	slices.SortFunc(rows, func(a, b segment.Row) int { return strings.Compare(a.Tag, b.Tag) })
	return rows, nil
}

func (f *fake) Return(_ context.Context, tag string, rest segment.Range) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	row := f.tags[tag]
	if row == nil || row.Next != rest.To {
		return false, nil
	}
	row.Next = rest.From
	return true, nil
}

// slowReturn is a fake whose Return blocks until ctx ends.
type slowReturn struct{ *fake }

func (slowReturn) Return(ctx context.Context, _ string, _ segment.Range) (bool, error) {
	<-ctx.Done()
	return false, ctx.Err()
}

// deaf is a fake whose Fetch ignores the end of its ctx, like a statement that the server has begun.
type deaf struct{ *fake }

func (d deaf) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	return d.fake.Fetch(context.WithoutCancel(ctx), tag, step)
}

// listed is a Source with a fixed list of names.
type listed struct {
	sourceFunc
	names []string
}

func (l listed) List(context.Context) (rows []segment.Row, err error) {
	for _, name := range l.names {
		rows = append(rows, segment.Row{Tag: name, Step: 10})
	}
	return rows, nil
}

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

// stretch returns only the bounds of a range, without the source's step.
func stretch(r segment.Range) string { return fmt.Sprintf("[%d, %d)", r.From, r.To) }

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

// TestConformanceFake runs the suite over the fake, so that the tests of the Generator use a correct
// Source.
func TestConformanceFake(t *testing.T) {
	t.Parallel()
	f := newFake(10)
	segmenttest.Run(t, segmenttest.Config{
		Open: func(testing.TB) segment.Source { return f }, Tag: "a", Unknown: "nobody",
	})
}
