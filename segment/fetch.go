package segment

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/internal/segbound"
)

// Fetch returns a range straight from the source, for a program that counts through it itself. It
// makes a Generator a Source: a server can hand ranges to clients that hold their own (packages
// package service). Fetch does not touch the ranges that the Generator holds, and it does not
// adapt step: each client adapts its own. But a step above the largest that the Generator asks for
// itself, which Options.MaxStep bounds, is cut to that: a client must not use a counter up.
// Concurrent calls ask the source at once, also for one tag.
//
// The bounds on made-up names apply here too. With Listed, only names in the list are known. A name
// that the source did not know is refused for a second. At most a few names that the Generator does
// not use are asked for at a time. Options.FetchTimeout bounds the call. The caller must compare
// each range with the earlier ones, as Source says.
//
// Errors wrap ErrOptions for a step that is out of range, ErrUnknownTag, ErrExhausted, ErrBadRange,
// ErrClosed, the source's error, or that of ctx. After an error a range may be lost: it is a gap.
func (g *Generator) Fetch(ctx context.Context, tag string, step int64) (Range, error) {
	if step < 0 || step > segbound.Span {
		return Range{}, fmt.Errorf("%w: step is %d, want 0..%d", ErrOptions, step, segbound.Span)
	}
	ctx, cancel := context.WithTimeout(ctx, g.opts.FetchTimeout)
	defer cancel()
	leave, err := g.enter(ctx, tag)
	if err != nil {
		return Range{}, err
	}
	defer leave()
	var r Range
	if step, err = g.cut(ctx, tag, step); err == nil {
		r, err = g.src.Fetch(ctx, tag, step)
	}
	if err == nil {
		err = r.Validate()
	}
	if err != nil {
		if errors.Is(err, ErrUnknownTag) {
			g.unknown.add(tag, time.Now())
		}
		return Range{}, fmt.Errorf("segment: tag %.128q: %w", tag, err)
	}
	// Asked again, because Close does not wait for this call: it would hand out ids after Close
	// returned.
	if err := g.open(); err != nil {
		return Range{}, err // the range is a gap
	}
	return r, nil
}

// cut returns step, or the most that may be asked for if that is less. That depends on the row's
// own step, so a Finder is asked for the row, but only about a step that may be too large.
func (g *Generator) cut(ctx context.Context, tag string, step int64) (int64, error) {
	p := pace{limit: g.opts.MaxStep}
	if f, ok := g.src.(Finder); ok && step > p.max() {
		row, err := f.Find(ctx, tag)
		if err != nil {
			return 0, err
		}
		p.base = min(row.Step, segbound.Span)
	}
	return min(step, p.max()), nil
}

// open returns ErrClosed after Close has begun, and nil before.
func (g *Generator) open() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return ErrClosed
	}
	return nil
}

// enter waits until the source may be asked for a range of name. The caller must call leave when
// the source has answered. enter fails at once if the source is known not to have the name. Names
// in use wait for nothing: their number is bounded by the tags that the source has.
func (g *Generator) enter(ctx context.Context, name string) (leave func(), err error) {
	if err := g.open(); err != nil {
		return nil, err
	}
	if err := g.refuse(name); err != nil {
		return nil, err
	}
	if g.find(name) != nil {
		return func() {}, nil
	}
	select {
	case g.firsts <- struct{}{}:
		return func() { <-g.firsts }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("segment: tag %.128q: waiting for fetches of other names: %w",
			name, ctx.Err())
	}
}

// refuse returns an error for a name that the source is not asked for.
func (g *Generator) refuse(name string) error {
	why := ""
	switch {
	case g.unknown.has(name, time.Now()):
	case g.find(name) != nil:
		return nil
	case g.opts.Listed:
		why = ": it is not in the source's list"
	case !utf8.ValidString(name): // neither logs nor metrics could show it
		why = ": it is not UTF-8"
	default:
		return nil
	}
	return fmt.Errorf("segment: tag %.128q: %w%s", name, ErrUnknownTag, why)
}
