package segment

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/internal/backoff"
)

// A Periods is a Source that makes counters by itself, one for each period of a name, such as the
// orders of a day. Package number uses it. Two processes whose clocks differ name two periods, and
// their ids are of two tags. Every method blocks on I/O until ctx ends.
type Periods interface {
	Source

	// Begin makes the counter of a period, at 1, if it is missing. It holds the lock of the name's
	// row meanwhile, which it makes at the name's first use. It returns ErrFormat if the name was
	// first used with another Format, and ErrPastPeriod if p.Number is below the name's floor. With
	// an empty Tag it makes no counter and compares no floor. It returns ErrOptions for a Tag that
	// the source cannot hold, and where counters repeat or do not begin at 1.
	Begin(ctx context.Context, p Period) error

	// Clear raises the floor of a name, and then deletes the counters of the periods below it. It
	// returns how many it deleted. Raised first, it keeps a process whose clock is behind from
	// beginning such a period anew. It lowers no floor.
	Clear(ctx context.Context, name string, floor int64) (deleted int, err error)

	// Names returns the names that were used, sorted.
	Names(ctx context.Context) ([]Name, error)
}

// Name is the row of a name in a Periods.
type Name struct {
	Name   string
	Format string // of its first use
	Floor  int64  // no period below it is begun any more
}

// Period is a period of a name.
type Period struct {
	Name   string
	Format string // what the name is used for, in the words of the caller
	Number int64  // rises with time: 20261122 is a day. 0: the counter never begins anew
	Tag    string // of the counter: the name, @, the number and what else tells counters apart

	// Step is how many ids a first fetch takes, and MaxStep the most that a later one does.
	Step, MaxStep int64

	_ struct{} // keeps literals keyed
}

// Begin makes the counter of a period if it is missing, in the source, which has to be a Periods,
// and returns the handle of its tag. With Listed the tag need not be in the list. While the source
// is away it tries again until ctx ends. With an empty Tag it returns nil.
//
// Errors are those of Generator.Tag, ErrFormat, ErrPastPeriod and ErrOptions.
func (g *Generator) Begin(ctx context.Context, p Period) (*Tag, error) {
	src, ok := g.src.(Periods)
	if !ok {
		return nil, fmt.Errorf("%w: %T has no periods", ErrOptions, g.src)
	}
	err := backoff.Retry(ctx, g.opts.RetryMin, func() (time.Duration, error) {
		if err := g.open(); err != nil {
			return 0, err
		}
		err := g.beginOnce(ctx, src, p)
		if isPermanent(err) || errors.Is(err, ErrOptions) || errors.Is(err, ErrFormat) ||
			errors.Is(err, ErrPastPeriod) {
			return 0, err
		}
		return g.opts.RetryMax, err
	})
	if err != nil {
		return nil, fmt.Errorf("segment: period %.128q of %.128q: %w", p.Tag, p.Name, err)
	}
	if p.Tag == "" {
		return nil, nil //nolint:nilnil // there is no tag, as was asked for
	}
	return begun(ctx, func() (*Tag, error) { return g.adopt(p) })
}

// beginOnce asks the source once.
func (g *Generator) beginOnce(ctx context.Context, src Periods, p Period) error {
	ctx, cancel := context.WithTimeout(ctx, g.opts.FetchTimeout)
	defer cancel()
	return src.Begin(ctx, p)
}

// adopt returns the tag of a period whose counter there is. It bounds the steps before the first
// fetch.
func (g *Generator) adopt(p Period) (*Tag, error) {
	g.unknown.known(p.Tag)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, ErrClosed
	}
	t := g.find(p.Tag)
	if t == nil {
		t = newTag(g, p.Tag)
		t.pace.limit = p.MaxStep
		g.tags.Store(t.name, t)
		t.prefetch()
		return t, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pace.limit = p.MaxStep
	return t, nil
}

// Forget ends the tag and takes it from the Generator's memory. The ids that it holds are gaps, and
// calls of its methods fail with ErrClosed. A later call for its name makes a new one, which does
// not remember the ranges of this one: forget only tags that are not used any more. It asks the
// source nothing.
func (t *Tag) Forget() {
	t.end(ErrClosed)
	t.g.tags.CompareAndDelete(t.name, t)
}
