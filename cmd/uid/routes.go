package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/loglimit"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/segment"
)

// route is a database of a list.
type route struct {
	tagTable

	place string
	db    *sqldb.DB // nil for the default
	tags  []string  // a name, or with a * at its end the start of names; none: the default

	create func(context.Context) error // makes the table; of a db

	late   atomic.Bool               // it was away at a check: its table may be missing
	silent atomic.Pointer[time.Time] // until when it is asked for its own tags only; nil: it is not
}

// routed is a source over several databases. A list says which one a tag is in, and the first is
// that of all others. The counters of numbers are in the first.
//
// A tag never changes its database silently. Its counter is looked for in all of them before its
// first range, and again after each list: with two that have ids left it is refused, since both may
// have given equal ids. One that is in another database than the list says, because it was moved or
// because the list was changed, is served from where it is, and the log says so.
type routed struct {
	all    []*route
	logger *slog.Logger

	away, elsewhere loglimit.Limit // one for each line in the log

	mu sync.Mutex
	at map[string]*route // by tag whose counter was found since the last list; guarded by mu
}

// newRouted returns a source over the databases of a file, in addition to the default one. The
// caller closes dbs, also after an error.
func (f *sourceFlags) newRouted(
	p *program, first segment.Source, place, file string, logger *slog.Logger,
) (r *routed, dbs []*gorm.DB, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("--routes: %w", err)
	}
	r = &routed{logger: logger, at: map[string]*route{}}
	if err := r.add(first, &route{place: place}); err != nil {
		return nil, nil, err
	}
	seen := map[string]bool{}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		tag, name, _ := strings.Cut(line, " ")
		where := fmt.Sprintf("--routes %s, line %d", file, i+1)
		if name == "" || seen[tag] || strings.Contains(tag, "@") ||
			strings.Contains(strings.TrimSuffix(tag, "*"), "*") {
			return nil, dbs, usagef("%s: want TAG DSN or START* DSN, each tag once and without @",
				where)
		}
		seen[tag] = true
		s, err := dsn.Parse(strings.TrimSpace(name))
		if err != nil {
			return nil, dbs, usagef("%s: %w", where, err)
		}
		p.redactor.Secret(s.Secrets...)
		at := slices.IndexFunc(r.all, func(r *route) bool { return r.place == s.Place })
		if at < 0 {
			db, err := s.Pool()
			if err != nil {
				return nil, dbs, fmt.Errorf("%s: %s: %w", where, s.Place, err)
			}
			dbs = append(dbs, db)
			src, _, err := f.source(p, db)
			if err != nil {
				return nil, dbs, err
			}
			one := &route{place: s.Place, create: func(ctx context.Context) error {
				return migrateSegments(ctx, db, logger, []string{f.table()})
			}}
			if one.db, err = sqlgorm.Open("uid serve", db, logger); err == nil {
				err = r.add(src, one)
			}
			if err != nil {
				return nil, dbs, err
			}
			at = len(r.all) - 1
		}
		r.all[at].tags = append(r.all[at].tags, tag)
	}
	return r, dbs, nil
}

// add adds a database.
func (r *routed) add(src segment.Source, one *route) error {
	t, ok := src.(tagTable)
	if !ok {
		return usagef("--routes wants --source leaf or sequence: a %T has no tags to route", src)
	}
	one.tagTable = t
	r.all = append(r.all, one)
	return nil
}

// home returns the database that the list names for a tag. A whole name comes before the start of
// one, and a longer start before a shorter one.
func (r *routed) home(tag string) *route {
	best, length := r.all[0], -1
	for _, one := range r.all {
		for _, name := range one.tags {
			start, group := strings.CutSuffix(name, "*")
			switch {
			case !group && name == tag:
				return one
			case group && strings.HasPrefix(tag, start) && len(start) > length:
				best, length = one, len(start)
			}
		}
	}
	return best
}

// where returns the database that has the counter of a tag, and an error that wraps
// segment.ErrBadRange if two have. A tag that the list's database has is there, even if another
// does not answer, which is a line in the log; for any other tag all have to answer. While a tag
// moves there is a moment in which none has ids left, so that is an error that passes.
func (r *routed) where(ctx context.Context, tag string) (*route, error) {
	if strings.Contains(tag, "@") { // the counter of a number, beside the row of its name
		return r.all[0], nil
	}
	home := r.home(tag)
	r.mu.Lock()
	at, known := r.at[tag]
	r.mu.Unlock()
	if known {
		return at, nil
	}
	found, ends, sure := r.look(ctx, tag, home)
	for again := 0; len(found) > 1 && again < 2; again++ { // it may have moved between two checks
		found, ends, sure = r.look(ctx, tag, home)
	}
	switch {
	case len(found) > 1:
		return nil, fmt.Errorf("%w: %s and %s both have the tag %q, with ids left: both may "+
			"have given equal ids; put one counter above the other, and delete the other's row",
			segment.ErrBadRange, found[0].place, found[1].place, tag)
	case !sure && (len(found) == 0 || found[0] != home):
		return nil, fmt.Errorf("not every database of --routes says whether it has the tag %q, "+
			"and %s, which is named for it, has no ids of it", tag, home.place)
	case len(found) == 0 && ends:
		return nil, fmt.Errorf("the counter of tag %q is at its end, and there is no other yet: "+
			"it is moving to another database, or used up", tag)
	case len(found) == 0:
		return home, nil // which says what is wrong
	case found[0] != home:
		r.elsewhere.Logger(r.logger).Warn("uid: a tag is not in the database that --routes names",
			"tag", tag, "named", home.place, "is_in", found[0].place)
	}
	if sure {
		r.mu.Lock()
		r.at[tag] = found[0]
		r.mu.Unlock()
	}
	return found[0], nil
}

// forget has the next fetch of a tag look for its counter again.
func (r *routed) forget(tag string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.at, tag)
}

// Fetch fetches from the database that has the counter. If it is at its end or gone there, it has
// moved perhaps, and is looked for once more.
func (r *routed) Fetch(ctx context.Context, tag string, step int64) (segment.Range, error) {
	at, err := r.where(ctx, tag)
	if err != nil {
		return segment.Range{}, err
	}
	got, err := at.Fetch(ctx, tag, step)
	if errors.Is(err, segment.ErrExhausted) || errors.Is(err, segment.ErrUnknownTag) {
		r.forget(tag)
		again, whereErr := r.where(ctx, tag)
		switch {
		case whereErr != nil:
			return segment.Range{}, whereErr
		case again != at:
			return again.Fetch(ctx, tag, step)
		}
	}
	return got, err
}

// Find returns the row of a tag, from the database that has it.
func (r *routed) Find(ctx context.Context, tag string) (segment.Row, error) {
	at, err := r.where(ctx, tag)
	if err != nil {
		return segment.Row{}, err
	}
	return at.Find(ctx, tag)
}

// Return gives ids back to the database that has the counter.
func (r *routed) Return(ctx context.Context, tag string, rest segment.Range) (bool, error) {
	at, err := r.where(ctx, tag)
	if err != nil {
		return false, err
	}
	return at.Return(ctx, tag, rest)
}

// List lists the tags of all databases, each once: a counter with ids left comes before one at its
// end. The next fetch of each tag looks for it anew.
func (r *routed) List(ctx context.Context) ([]segment.Row, error) {
	var (
		rows []segment.Row
		errs []error
	)
	index := map[string]int{}
	for _, one := range r.all {
		list, err := one.List(ctx)
		if err != nil && r.made(ctx, one, err) {
			list, err = one.List(ctx)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", one.place, err))
		}
		for _, row := range list {
			i, ok := index[row.Tag]
			switch {
			case !ok:
				index[row.Tag] = len(rows)
				rows = append(rows, row)
			case rows[i].Next == math.MaxInt64:
				rows[i] = row
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	slices.SortFunc(rows, func(a, b segment.Row) int { return strings.Compare(a.Tag, b.Tag) })
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.at)
	return rows, nil
}

// Check checks each database. One that does not answer stops its own tags only, so it is a line in
// the log, unless it is the default.
func (r *routed) Check(ctx context.Context) error {
	errs := make([]error, len(r.all))
	var wg sync.WaitGroup
	for i, one := range r.all {
		wg.Go(func() {
			bounded, cancel := context.WithTimeout(ctx, checkTime)
			defer cancel()
			err := one.Check(bounded)
			switch {
			case err == nil:
			case !one.away(bounded):
				errs[i] = fmt.Errorf("%s: %w", one.place, err)
			default:
				one.late.Store(true)
				r.away.Logger(r.logger).Warn("uid: a database of --routes does not answer",
					"database", one.place, "error", err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// checkTime bounds the check of a database, so that one that hangs does not use up a start's time.
const checkTime = 4 * time.Second

// away reports whether a database of the list does not answer, which may pass. One that refuses the
// account, or is not there, is not away.
func (r *route) away(ctx context.Context) bool {
	if r.db == nil {
		return false
	}
	err := r.db.Do(ctx, func(*sqldb.Conn) error { return nil })
	return err != nil && r.db.Failure(err) == sqldb.Transient
}

// Begin makes the counter of a period in the first database.
func (r *routed) Begin(ctx context.Context, p segment.Period) error {
	return r.all[0].Begin(ctx, p)
}

// Clear deletes counters of periods, which are in the first database.
func (r *routed) Clear(ctx context.Context, name string, floor int64) (int, error) {
	return r.all[0].Clear(ctx, name, floor)
}

// Names returns the names of numbers, which are in the first database.
func (r *routed) Names(ctx context.Context) ([]segment.Name, error) { return r.all[0].Names(ctx) }

// String names the databases.
func (r *routed) String() string {
	var places []string
	for _, one := range r.all[1:] {
		places = append(places, one.place+" ("+strings.Join(one.tags, ", ")+")")
	}
	return strings.Join(places, "; ")
}
