package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/internal/storekind"
)

const (
	// requestTimeout bounds one call of a Store: a call that gets no answer gives way to another
	// try. A List of many slots may need more, which it gets up to mostPatience: see list.
	requestTimeout, mostPatience = 5 * time.Second, time.Minute

	// Pauses between tries double from the first to the last, and each is cut at random to between
	// half and all of it: a fleet that lost its store together must not come back in step. Pauses
	// after a conflict stay shorter, because the store is there. Those of a Release do not grow.
	firstPause    = 10 * time.Millisecond
	lastPause     = 2 * time.Second
	lastForChange = 250 * time.Millisecond

	// few is how often Extend tries. Its callers have a schedule of their own for more.
	few = 3

	// releaseTimeout bounds a Release, whose caller has no other try. Its tries are spread: a
	// server that refuses connections while a fleet stops has a place for all of them, one after
	// another.
	releaseTimeout, spread = 5 * time.Second, time.Second

	closing = -1 // stands for as many tries as a Release has time for

	// stubborn is how many conflicts in a row are a line in the log: a store whose index never
	// shows what was written, say.
	stubborn = 32
)

// space is what the claims of one Assigner with one layout share. It is immutable; memory locks
// itself.
type space struct {
	store    Store
	index    Index    // the store; nil: it is none
	numberer Numberer // likewise
	fresh    bool     // the store's lists are not old: see storekind.Fresh
	options  Options
	asked    time.Duration // Options.Reach before the default took its place
	layout   string
	memory   *memory          // shared by all that BindLayout returns
	local    func() time.Time // the process's clock
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

// tell returns the time of a store that tells it. It tries a few times.
func (s *space) tell(ctx context.Context) (time.Time, error) {
	var now int64
	err := s.retry(ctx, "asking for the time", few, func(ctx context.Context) (err error) {
		now, err = s.now(ctx)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(now).UTC(), nil
}

// timeOf returns the time by the same clock at which e was read, or now if the store has not told.
func (s *space) timeOf(ctx context.Context, e Entry) (int64, error) {
	if !e.At.IsZero() {
		return e.At.UnixMilli(), nil
	}
	return s.now(ctx)
}

// limit returns where a window may end at the latest: a store that tells the time grants nothing
// beyond its time plus the reach.
func (s *space) limit(h header, now int64) int64 {
	if _, ok := s.store.(assigner.Clock); !ok {
		return maxMillis
	}
	return now + s.reach(h)
}

// beyond returns the error of a window that is to end at want, beyond limit.
func (s *space) beyond(h header, now, want int64) error {
	return fmt.Errorf("%w: it is %v there, the window would reach %v, and the reach is %v: one of "+
		"the two clocks is wrong, that of %s or that of this process; Options.Reach widens the "+
		"bound", assigner.ErrBeyondReach, millis(now), millis(want),
		time.Duration(s.reach(h))*time.Millisecond, place(s.store))
}

// list reads all entries. Where hundreds of processes start at once, a store may be busy with their
// lists for longer than requestTimeout, and if all gave up then, none would ever start. So each
// List has twice as long as the last one took, be it that it was answered or ran out of time.
func (s *space) list(ctx context.Context) ([]Entry, error) {
	took := time.Duration(s.memory.listed.Load())
	ctx, cancel := context.WithTimeout(ctx, min(max(requestTimeout, 2*took), mostPatience))
	defer cancel()
	begin := time.Now()
	entries, err := s.store.List(ctx)
	s.memory.listed.Store(int64(time.Since(begin)))
	return entries, err
}

func (s *space) get(ctx context.Context, name string) (Entry, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	e, err := s.store.Get(ctx, name)
	e.Name = name
	return e, err
}

func (s *space) look(ctx context.Context, q Query) (header Entry, slots []Entry, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	header, slots, err = s.index.Look(ctx, q)
	header.Name = headerName
	return header, slots, err
}

func (s *space) shows(ctx context.Context, name, token string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return s.index.Shows(ctx, name, token)
}

// latest returns the slot whose window ends last. there reports whether there is one. It is
// ErrConflict if the answer may be older than h.
func (s *space) latest(ctx context.Context, h header) (r row, there bool, err error) {
	var rows []row
	if s.index != nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		var e Entry
		if e, err = s.index.Latest(ctx); e.Version != "" {
			rows = s.slots([]Entry{e})
		}
	} else {
		var shown header
		shown, rows, err = s.rows(ctx)
		if err == nil && shown.entry.Version != h.entry.Version {
			err = fmt.Errorf("the list is old: %w", ErrConflict)
		}
	}
	r, there = last(rows)
	return r, there, err
}

// last returns the row whose window ends last. there reports whether there is one.
func last(rows []row) (r row, there bool) {
	for _, found := range rows {
		if found.Until >= r.Until {
			r, there = found, true
		}
	}
	return r, there
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

// rows reads the header and all slots, and does not compare layouts.
func (s *space) rows(ctx context.Context) (h header, rows []row, err error) {
	entries, err := s.list(ctx)
	if err == nil {
		h, err = s.headerOf(entries)
	}
	if err != nil {
		return h, nil, err
	}
	return h, s.slots(entries), nil
}

// headerOf reads the header among entries. Without one it has no entry.
func (s *space) headerOf(entries []Entry) (h header, err error) {
	for _, e := range entries {
		if e.Name == headerName {
			h, err = s.parseHeader(e)
		}
	}
	return h, err
}

// apart reports whether what a start sees has no notes.
func (s *space) apart() bool { return s.told() || s.index != nil }

// told reports whether the store's List leaves the notes out.
func (s *space) told() bool {
	_, ok := s.store.(storekind.Noter)
	return ok
}

// noted returns the worker ids of all notes, after a List that has returned entries.
func (s *space) noted(ctx context.Context, entries []Entry) (used, error) {
	if s.told() {
		return s.notes(ctx)
	}
	return notesOf(entries), nil
}

// notes returns the worker ids of all notes.
func (s *space) notes(ctx context.Context) (used, error) {
	n, ok := s.store.(storekind.Noter)
	if !ok {
		entries, err := s.list(ctx)
		return notesOf(entries), err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ids, err := n.Notes(ctx)
	noted := make(used, len(ids))
	for i, id := range ids {
		noted[i] = [2]int64{id, id + 1}
	}
	return noted.union(nil), err
}

// notesOf returns the worker ids of the notes among entries.
func notesOf(entries []Entry) (noted used) {
	for _, e := range entries {
		if id, ok := storekind.WorkerOf(e.Name, notePrefix); ok {
			noted = append(noted, [2]int64{id, id + 1})
		}
	}
	return noted.union(nil)
}

// slots reads the slots among entries. A slot that cannot be read gets an end that never comes, so
// it is never free.
func (s *space) slots(entries []Entry) []row {
	rows := make([]row, 0, len(entries))
	for _, e := range entries {
		if _, ok := slotWorker(e.Name); !ok {
			continue
		}
		r, err := parseRow(e)
		if err != nil {
			s.options.Logger.Warn("slot left alone", "place", place(s.store), "error", err)
			r = row{Until: maxMillis, worker: r.worker}
		}
		rows = append(rows, r)
	}
	return rows
}

// attempt calls do once, in a session of the store if it has any.
func (s *space) attempt(ctx context.Context, do func(context.Context) error) error {
	if store, ok := s.store.(storekind.Sessioner); ok {
		with, end := store.Session(ctx)
		defer end()
		ctx = with
	}
	return do(ctx)
}

// retry calls do until it succeeds, fails for good, or ctx ends, at most tries times unless tries
// is 0 or closing. The error says what was being done and where, and wraps ctx's error if that
// ended it.
func (s *space) retry(ctx context.Context, what string, tries int,
	do func(context.Context) error) error {
	least, n, warned := firstPause, 0, tries != 0
	if tries == closing {
		least = spread
	}
	err := backoff.Retry(ctx, least, func() (time.Duration, error) {
		n++
		err := s.attempt(ctx, do)
		// A clock that is wrong is not right a moment later. An Assign has all of its ctx.
		beyond := tries > 0 && errors.Is(err, assigner.ErrBeyondReach)
		switch {
		case err == nil:
			return 0, nil
		case ctx.Err() == nil && (permanent(err) || beyond || n == tries):
			return 0, err
		case tries == closing:
			return spread, err
		}
		pause := lastPause
		if errors.Is(err, ErrConflict) || errors.Is(err, ErrBusy) {
			pause = lastForChange
		}
		if !warned && ctx.Err() == nil && (pause == lastPause || n == stubborn) {
			s.options.Logger.Warn("waiting for the store",
				"doing", what, "place", place(s.store), "error", err)
			warned = true
		}
		return pause, err
	})
	if err != nil {
		return fmt.Errorf("lease: %s: %s: %w", what, place(s.store), err)
	}
	return nil
}
