package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/assigner"
)

const (
	// requestTimeout bounds one call of a Store: a call that gets no answer gives way to another
	// try.
	requestTimeout = 5 * time.Second

	// Pauses between tries double from the first to the last, and each is cut at random to between
	// half and all of it: a fleet that lost its store together must not come back in step. Pauses
	// after a conflict stay shorter, because the store is there.
	firstPause    = 10 * time.Millisecond
	lastPause     = 2 * time.Second
	lastForChange = 250 * time.Millisecond

	// few is how often Extend and Release try. Their callers have a schedule of their own for more.
	few = 3
)

// space is what the claims of one Assigner with one layout share. It is immutable; memory locks
// itself.
type space struct {
	store   Store
	options Options
	layout  string
	memory  *memory          // shared by all that BindLayout returns
	local   func() time.Time // the process's clock
}

// now returns the time by the store's clock, or by the process's if it has none, in Unix
// milliseconds.
func (s *space) now(ctx context.Context) (int64, error) {
	clock, ok := s.store.(assigner.Clock)
	if !ok {
		return s.local().UnixMilli(), nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	t, err := clock.Now(ctx)
	return t.UnixMilli(), err
}

func (s *space) list(ctx context.Context) ([]Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return s.store.List(ctx)
}

func (s *space) get(ctx context.Context, name string) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	e, err := s.store.Get(ctx, name)
	e.Name = name
	return e, err
}

func (s *space) put(ctx context.Context, old Entry, value []byte) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	e, err := s.store.Put(ctx, old, value)
	e.Name = old.Name
	return e, err
}

// swap stores to in place of old, and returns to with its entry.
func (s *space) swap(ctx context.Context, old, to row) (row, error) {
	e, err := s.put(ctx, old.entry, encode(to))
	to.entry = e
	return to, err
}

// rows reads the header and all slots, and does not compare layouts. A slot that cannot be read
// gets an end that never comes, so it is never free.
func (s *space) rows(ctx context.Context) (h header, rows []row, err error) {
	entries, err := s.list(ctx)
	if err != nil {
		return h, nil, err
	}
	for _, e := range entries {
		if e.Name == HeaderName {
			if h, err = parseHeader(e); err != nil {
				return h, nil, err
			}
		}
		if _, ok := slotWorker(e.Name); !ok {
			continue
		}
		r, err := parseRow(e)
		if err != nil {
			s.options.Logger.Warn("slot left alone", "place", place(s.store), "error", err)
			r = row{Until: maxMillis, Owner: "?", worker: r.worker, entry: e}
		}
		rows = append(rows, r)
	}
	return h, rows, nil
}

// retry calls do until it succeeds, fails for good, or ctx ends, at most tries times unless tries
// is 0. The error says what was being done and where, and wraps ctx's error if that ended it.
func (s *space) retry(ctx context.Context, what string, tries int,
	do func(context.Context) error) error {
	var last error // other than a conflict
	pause := firstPause
	for n := 1; ; n++ {
		err := ctx.Err()
		if err == nil {
			err = do(ctx)
		}
		if err == nil {
			return nil
		}
		if ended := ctx.Err(); ended != nil {
			if last == nil && !errors.Is(err, ended) {
				last = err
			}
			if last != nil {
				ended = fmt.Errorf("%w; last error: %w", ended, last)
			}
			return fmt.Errorf("lease: %s: %s: %w", what, place(s.store), ended)
		}
		if permanent(err) || n == tries {
			return fmt.Errorf("lease: %s: %s: %w", what, place(s.store), err)
		}
		limit := lastForChange
		if !errors.Is(err, ErrConflict) {
			limit = lastPause
			if last == nil && tries == 0 {
				s.options.Logger.Warn("waiting for the store",
					"doing", what, "place", place(s.store), "error", err)
			}
			last = err
		}
		timer := time.NewTimer(pause/2 + rand.N(pause/2))
		select {
		case <-ctx.Done():
			timer.Stop()
		case <-timer.C:
		}
		pause = min(2*pause, limit)
	}
}
