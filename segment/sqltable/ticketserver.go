package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uidring/uidring/internal/backoff"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
	"github.com/uidring/uidring/segment"
)

// ticketServer is one of a Ticket's servers.
type ticketServer struct {
	index  int
	db     *sqldb.DB
	table  string // quoted
	opts   TicketOptions
	good   atomic.Bool               // the server was examined and has not failed since
	counts atomic.Pointer[counting]  // as of the last examination
	failed atomic.Pointer[time.Time] // when the server failed last; nil after a success
	high   atomic.Int64              // above every id that the server is known to have given
	floor  atomic.Int64              // the least id to take after it went back; 0: it did not
}

// counting says which ids are a server's own.
type counting struct {
	step        int64
	offset      int64           // modulo step
	from, below int64           // bounds of the ids that may be used: from <= id < below
	plan        ticketplan.Plan // the server's plan, whether or not it counts by it
}

// named adds the server's index to an error.
func (s *ticketServer) named(err error) error {
	return fmt.Errorf("sqltable: ticket server %d: %w", s.index, err)
}

// resting reports whether the server failed less than ticketRest ago.
func (s *ticketServer) resting() bool {
	at := s.failed.Load()
	return at != nil && time.Since(*at) < ticketRest
}

// rest records the result of asking the server. After a failure the server is examined again,
// because another machine may be at the same address.
func (s *ticketServer) rest(err error) {
	if err == nil {
		s.failed.Store(nil)
		return
	}
	now := time.Now()
	s.failed.Store(&now)
	s.good.Store(false)
}

// take takes n ids. PostgreSQL and SQLite give one, whatever n is.
func (s *ticketServer) take(ctx context.Context, tag string, n int64) (r segment.Range, err error) {
	if s.db.Name != "mysql" {
		n = 1
	}
	err = s.update(ctx, func(c *sqldb.Conn) error {
		if err := s.stillBack(ctx, c); err != nil {
			return err
		}
		given := s.high.Load() // before the server makes another one
		first, k, err := s.replace(ctx, c, tag, n)
		if err == nil {
			r, err = s.rangeFrom(first, n, k)
		}
		if err == nil {
			err = s.compare(r, given)
		}
		return err
	})
	if err != nil {
		return segment.Range{}, s.spent(ctx, err)
	}
	return r, nil
}

// replace gives new ids to the tag's row and n-1 other rows. It returns the first id and how the
// server counts.
//
// MySQL gives neighbouring ids to a statement whose number of rows is known in advance, in every
// innodb_autoinc_lock_mode, and the result has the first of them. The stubs of the other rows are
// the tag and a number. (n rows of one stub would work too, but their time grows with the square of
// n: each row passes the deleted rows before it in the unique key.) It does no harm that "a1" may
// be a tag too.
//
// The settings and the plan are read after the REPLACE, on its connection. A plan is written before
// the counter is moved, so a caller whose id was given after the move sees the plan here.
func (s *ticketServer) replace(
	ctx context.Context, c *sqldb.Conn, tag string, n int64,
) (first int64, k counting, err error) {
	switch s.db.Name {
	case "postgres":
		err = c.Row(ctx, "INSERT INTO "+s.table+" (stub) VALUES (?)"+
			" ON CONFLICT (stub) DO UPDATE SET id = EXCLUDED.id RETURNING id", []any{tag}, &first)
		return first, *s.counts.Load(), err
	case "sqlite":
		err = c.Row(ctx, "REPLACE INTO "+s.table+" (stub) VALUES (?) RETURNING id",
			[]any{tag}, &first)
		return first, *s.counts.Load(), err
	}
	stubs := []any{tag}
	for i := range n - 1 {
		stubs = append(stubs, tag+strconv.FormatInt(i+1, 10))
	}
	rows := "(?)" + strings.Repeat(", (?)", int(n-1))
	result, err := c.Exec(ctx, "REPLACE INTO "+s.table+" (stub) VALUES "+rows, stubs...)
	if err != nil {
		return 0, k, err
	}
	if k, err = s.examineSettings(ctx, c); err != nil {
		return 0, k, err
	}
	first, err = result.LastInsertId()
	return first, k, err
}

// rangeFrom returns the range of n ids from first on, which the server gave while it counted by k.
// It checks that first is one of the server's own ids, whatever the settings say: if the counter
// was moved off its offset, or the offset was changed, the ids could be another server's.
func (s *ticketServer) rangeFrom(first, n int64, k counting) (segment.Range, error) {
	// An unsigned id of 2^63 or more arrives as a negative one.
	if first < 1 || first > math.MaxInt64-n*k.step {
		return segment.Range{}, fmt.Errorf("%w: %d ids from %d on by %d pass %d",
			segment.ErrExhausted, n, uint64(first), k.step, int64(math.MaxInt64))
	}
	last := first + (n-1)*k.step
	switch then := s.counts.Load(); {
	case k.step != then.step || first%k.step != then.offset:
		return segment.Range{}, wrong("it gave %d, which is %d modulo %d, "+
			"want %d modulo %d as when it was examined",
			first, first%k.step, k.step, then.offset, then.step)
	case first < k.from:
		return segment.Range{}, wrong("it gave %d, want %d or more by its plan: "+
			"its counter is not moved yet", first, k.from)
	case last >= k.below:
		return segment.Range{}, wrong("it gave %d, want ids below %d, "+
			"where its plan for step %d starts", last, k.below, k.plan.Step)
	}
	return segment.Range{From: first, To: last + 1, Stride: k.step, Origin: s.index}, nil
}

// spent wraps err in ErrExhausted if it is the database's error for a counter that has no further
// id, so that calls fail at once.
func (s *ticketServer) spent(ctx context.Context, err error) error {
	over := false
	switch s.db.Name {
	case "mysql":
		code := sqldb.MySQLCode(err)
		over = slices.Contains([]uint16{167, 1264, 1467}, code)
		if code == 1062 {
			// MySQL 5.6 reports the last id as a duplicate, and nothing but the text says which id.
			_, text, _ := strings.Cut(err.Error(), "Duplicate entry '")
			digits, _, _ := strings.Cut(text, "'")
			id, _ := strconv.ParseInt(digits, 10, 64)
			over = id > math.MaxInt64-s.opts.Step
		}
	case "postgres":
		var state interface{ SQLState() string }
		over = errors.As(err, &state) && state.SQLState() == "2200H"
	case "sqlite": // reports a full disk
		var high sql.NullInt64
		over = s.db.Do(ctx, func(c *sqldb.Conn) error {
			return c.Row(ctx, "SELECT MAX(id) FROM "+s.table, nil, &high)
		}) == nil && high.Int64 == math.MaxInt64
	}
	if over {
		return fmt.Errorf("%w: %w", segment.ErrExhausted, err)
	}
	return err
}

// MySQL's code for a deadlock, and the longest pause after one. Two REPLACEs of one row can
// deadlock in InnoDB, because each deletes the row and inserts it again. The other one finishes
// soon.
const (
	deadlock      = 1213
	deadlockPause = 5 * time.Millisecond
)

// update runs f on a connection and commits what it did. It runs f again after a deadlock. If f
// returns a staleError, because the session is older than the server's settings, update closes the
// connection and runs f on another one: once for each connection of the pool that may be as old,
// and once on a new one.
func (s *ticketServer) update(ctx context.Context, f func(c *sqldb.Conn) error) error {
	for old := s.db.Idle(); ; {
		err := s.db.Do(ctx, func(c *sqldb.Conn) error {
			err := f(c)
			if errors.Is(err, ErrTicketServer) {
				c.Discard()
			}
			return err
		})
		switch stale := (staleError{}); {
		case sqldb.MySQLCode(err) == deadlock && ctx.Err() == nil:
			backoff.Wait(ctx, rand.N(deadlockPause))
		case errors.As(err, &stale) && old > 0:
			old--
		default:
			return err
		}
	}
}
