package segment

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"gorm.io/gorm"
)

// ticketServer is one of a Ticket's servers.
type ticketServer struct {
	index  int
	store  store
	opts   TicketOptions
	good   atomic.Bool               // examined, and right since
	offset atomic.Int64              // of its ids modulo Step, as of the examination
	failed atomic.Pointer[time.Time] // when it failed last; nil after a success
}

// resting reports whether the server failed a moment ago.
func (s *ticketServer) resting() bool {
	at := s.failed.Load()
	return at != nil && time.Since(*at) < ticketRest
}

// rest notes how asking the server went. After a failure everything about it is examined again: what comes back under the
// same address may be another machine.
func (s *ticketServer) rest(err error) {
	if err == nil {
		s.failed.Store(nil)
		return
	}
	now := time.Now()
	s.failed.Store(&now)
	s.good.Store(false)
}

// take takes up to n ids.
func (s *ticketServer) take(ctx context.Context, tag string, n int64) (Range, error) {
	r, err := s.takeOn(ctx, tag, n)
	if err != nil {
		return Range{}, s.spent(ctx, err)
	}
	return r, nil
}

func (s *ticketServer) takeOn(ctx context.Context, tag string, n int64) (Range, error) {
	if s.store.dialect == dialectMySQL {
		return s.replace(ctx, tag, n)
	}
	query := "REPLACE INTO " + s.table() + " (stub) VALUES (?) RETURNING id"
	if s.store.dialect == dialectPostgres {
		query = "INSERT INTO " + s.table() + " (stub) VALUES (?) ON CONFLICT (stub) DO UPDATE SET id = EXCLUDED.id RETURNING id"
	}
	var id int64
	if err := s.store.row(ctx, query, []any{tag}, &id); err != nil {
		return Range{}, err
	}
	return s.rangeFrom(id, 1)
}

// replace reserves n ids with one REPLACE of n rows: the tag's, and n-1 whose stubs are the tag and a number. A statement
// that says how many rows it has gets neighbouring ids, in every innodb_autoinc_lock_mode, and the result names the
// first. (n rows of one stub would do as well, but the time for them grows with the square of n: each has to get past the
// marks that its deleted predecessors left in the unique key.) That "a1" may be a tag too does no harm.
//
// The settings are read after the REPLACE, on its connection. Who changes them (SET GLOBAL) and then moves the counter (ALTER
// TABLE, which waits for running statements) can be sure that no id from beyond the move was counted the old way and
// used: whoever got one sees the change here and throws it away.
func (s *ticketServer) replace(ctx context.Context, tag string, n int64) (r Range, err error) {
	args := []any{tag}
	for i := range n - 1 {
		args = append(args, tag+strconv.FormatInt(i+1, 10))
	}
	query := "REPLACE INTO " + s.table() + " (stub) VALUES (?)" + strings.Repeat(", (?)", int(n-1))
	err = s.onConn(ctx, func(c gorm.ConnPool) error {
		res, err := execOn(ctx, c, dialectMySQL, query, args...)
		for range deadlockTries {
			if err == nil || !isDeadlock(err) {
				break
			}
			res, err = execOn(ctx, c, dialectMySQL, query, args...)
		}
		if err != nil {
			return err
		}
		if _, err := s.examineSettings(ctx, c); err != nil {
			return err
		}
		id, err := res.LastInsertId()
		if err != nil {
			return err
		}
		r, err = s.rangeFrom(id, n)
		return err
	})
	return r, err
}

// rangeFrom returns the range of n ids from first on. That first is one of the server's own ids is the last word on what its
// settings say: a counter that was moved beside its offset, or an offset that was changed, would meet another server's ids.
func (s *ticketServer) rangeFrom(first, n int64) (Range, error) {
	if first < 1 || first > maxInt64-n*s.opts.Step { // an unsigned id from 2^63 on arrives as a negative one
		return Range{}, fmt.Errorf("%w: %d ids from %d on by %d pass %d", ErrExhausted, n, uint64(first), s.opts.Step, maxInt64)
	}
	if offset := s.offset.Load(); first%s.opts.Step != offset {
		return Range{}, fmt.Errorf("%w: it gave %d, which is %d modulo %d, want the %d of its offset", ErrTicketServer, first, first%s.opts.Step, s.opts.Step, offset)
	}
	return Range{From: first, To: first + (n-1)*s.opts.Step + 1, Stride: s.opts.Step, Origin: s.index}, nil
}

// deadlockTries is how often a REPLACE that lost a deadlock is repeated. Two REPLACEs of one row can deadlock in InnoDB,
// because each deletes the row and inserts it again; the winner is done a moment later.
const deadlockTries = 10

// isDeadlock tells by the text: the driver's error type is not this module's to import.
func isDeadlock(err error) bool { return strings.HasPrefix(err.Error(), "Error 1213 ") }

// spent turns the database's way of saying that a counter has no further id into ErrExhausted. The drivers' error types are not
// this module's to import.
func (s *ticketServer) spent(ctx context.Context, err error) error {
	over := false
	switch text := err.Error(); s.store.dialect {
	case dialectMySQL:
		over = strings.HasPrefix(text, "Error 167 ") || strings.HasPrefix(text, "Error 1467 ")
	case dialectPostgres:
		var state interface{ SQLState() string }
		over = errors.As(err, &state) && state.SQLState() == "2200H"
	case dialectSQLite: // says that the disk is full
		var high sql.NullInt64
		over = s.store.row(ctx, "SELECT MAX(id) FROM "+s.table(), nil, &high) == nil && high.Int64 == maxInt64
	}
	if over {
		return fmt.Errorf("%w: %w", ErrExhausted, err)
	}
	return err
}

// onConn runs f on one connection of the pool. One whose session counts wrong is closed, so that a fresh one, which begins with
// the server's settings, takes its place. If only the session is to blame f runs again: once for each connection that is as old,
// and once for a fresh one.
func (s *ticketServer) onConn(ctx context.Context, f func(gorm.ConnPool) error) error {
	pool, err := s.store.db.DB()
	if err != nil {
		return err
	}
	for old := pool.Stats().Idle; ; old-- {
		err := s.onOne(ctx, f)
		if stale := (staleError{}); old <= 0 || !errors.As(err, &stale) {
			return err
		}
	}
}

func (s *ticketServer) onOne(ctx context.Context, f func(gorm.ConnPool) error) error {
	return s.store.db.WithContext(ctx).Connection(func(tx *gorm.DB) error {
		err := f(tx.Statement.ConnPool)
		if conn, ok := tx.Statement.ConnPool.(*sql.Conn); ok && errors.Is(err, ErrTicketServer) {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // how database/sql is told to close it
		}
		return err
	})
}

func (s *ticketServer) table() string { return s.store.ident(s.opts.Table) }
