package segment_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
)

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
		return segtest.ErrAway
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

// late is a fake whose second Fetch and those after it move the counter at once and answer after a
// while, or with an error when their ctx ends.
type late struct {
	*fake
	latency time.Duration
}

func (l late) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	r, err := l.fake.Fetch(ctx, tag, step)
	if err != nil || r.From == 0 {
		return r, err
	}
	select {
	case <-time.After(l.latency):
		return r, nil
	case <-ctx.Done():
		return segment.Range{}, ctx.Err()
	}
}

// listed is a Source with a fixed list of names.
type listed struct {
	segtest.Func
	names []string
}

func (l listed) List(context.Context) (rows []segment.Row, err error) {
	for _, name := range l.names {
		rows = append(rows, segment.Row{Tag: name, Step: 10})
	}
	return rows, nil
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
