package segmenttest

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/uidring/uidring/segment"
)

// Counters is a segment.Source in memory, for tests of what counts: segments and the numbers of
// package number. The zero value is empty. Generators that share it are processes on one database,
// and one that lives on is a database after a restart. It is safe for concurrent use.
//
//	gen, err := segment.New(ctx, &segmenttest.Counters{}, nil)
//	orders, err := number.New(ctx, gen, "order", "{20060102}-{n 6 day}", nil)
type Counters struct {
	mu    sync.Mutex
	tags  map[string]*segment.Row
	names map[string]*segment.Name
	err   error
}

var (
	_ segment.Periods = (*Counters)(nil)
	_ segment.Lister  = (*Counters)(nil)
	_ segment.Finder  = (*Counters)(nil)
	_ segment.Setter  = (*Counters)(nil)
)

// Fail makes every call fail with err, until Fail(nil).
func (c *Counters) Fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

// enter locks c. It returns the error that calls get.
func (c *Counters) enter(ctx context.Context) error {
	c.mu.Lock()
	if c.tags == nil {
		c.tags, c.names = map[string]*segment.Row{}, map[string]*segment.Name{}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.err
}

// row returns the row of a tag.
func (c *Counters) row(tag string) (*segment.Row, error) {
	if r := c.tags[tag]; r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
}

// Fetch hands out a range of exactly step ids.
func (c *Counters) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	err := c.enter(ctx)
	defer c.mu.Unlock()
	if err != nil {
		return segment.Range{}, err
	}
	r, err := c.row(tag)
	if err != nil {
		return segment.Range{}, err
	}
	if step == 0 {
		step = r.Step
	}
	from := r.Next
	if step > math.MaxInt64-from {
		return segment.Range{}, segment.ErrExhausted
	}
	r.Next += step
	return segment.Range{From: from, To: r.Next, Step: r.Step}, nil
}

// List returns all rows.
func (c *Counters) List(ctx context.Context) ([]segment.Row, error) {
	err := c.enter(ctx)
	defer c.mu.Unlock()
	return sorted(c.tags), err
}

// Find returns the row of a tag.
func (c *Counters) Find(ctx context.Context, tag string) (segment.Row, error) {
	err := c.enter(ctx)
	defer c.mu.Unlock()
	if err != nil {
		return segment.Row{}, err
	}
	r, err := c.row(tag)
	if err != nil {
		return segment.Row{}, err
	}
	return *r, nil
}

// Set creates a tag, or changes one.
func (c *Counters) Set(ctx context.Context, row segment.Row) error {
	err := c.enter(ctx)
	defer c.mu.Unlock()
	if err != nil {
		return err
	}
	r, ok := c.tags[row.Tag]
	switch {
	case !ok && row.Step < 1:
		return fmt.Errorf("%w: Step is %d, want 1 or more", segment.ErrOptions, row.Step)
	case !ok:
		r = &segment.Row{Tag: row.Tag, Next: 1}
	case row.Next != 0 && row.Next < r.Next:
		return fmt.Errorf("%w: Next is %d, want at least %d", segment.ErrRangeWentBack, row.Next,
			r.Next)
	}
	r.Next, c.tags[row.Tag] = max(r.Next, row.Next), r
	if row.Step > 0 {
		r.Step = row.Step
	}
	return nil
}

// Begin makes the counter of a period.
func (c *Counters) Begin(ctx context.Context, p segment.Period) error {
	err := c.enter(ctx)
	defer c.mu.Unlock()
	if err != nil {
		return err
	}
	n := c.names[p.Name]
	if n == nil {
		n = &segment.Name{Name: p.Name, Format: p.Format}
		c.names[p.Name] = n
	}
	switch {
	case n.Format != p.Format:
		return fmt.Errorf("%w: %q has %q, not %q", segment.ErrFormat, p.Name, n.Format, p.Format)
	case p.Tag == "":
	case p.Number != 0 && p.Number < n.Floor:
		return fmt.Errorf("%w: it is %d, and %q has the floor %d", segment.ErrPastPeriod, p.Number,
			p.Name, n.Floor)
	case c.tags[p.Tag] == nil:
		c.tags[p.Tag] = &segment.Row{Tag: p.Tag, Next: 1, Step: p.Step}
	}
	return nil
}

// Clear raises the floor of a name and deletes what is below it.
func (c *Counters) Clear(ctx context.Context, name string, floor int64) (deleted int, err error) {
	err = c.enter(ctx)
	defer c.mu.Unlock()
	n := c.names[name]
	switch {
	case err != nil:
		return 0, err
	case n == nil:
		return 0, fmt.Errorf("%w: no name %q", segment.ErrUnknownTag, name)
	}
	n.Floor = max(n.Floor, floor)
	for tag := range c.tags {
		rest, ok := strings.CutPrefix(tag, name+"@")
		digits, _, _ := strings.Cut(rest, "@")
		if number, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && 0 < number &&
			number < floor {
			delete(c.tags, tag)
			deleted++
		}
	}
	return deleted, nil
}

// Names returns all names.
func (c *Counters) Names(ctx context.Context) ([]segment.Name, error) {
	err := c.enter(ctx)
	defer c.mu.Unlock()
	return sorted(c.names), err
}

// sorted returns the values of a map by their keys.
func sorted[T any](all map[string]*T) (values []T) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		values = append(values, *all[key])
	}
	return values
}
