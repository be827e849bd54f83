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

// examine returns the server's offset modulo Step, or why it must not be used.
func (s *ticketServer) examine(ctx context.Context) (offset int64, err error) {
	switch s.store.dialect {
	case dialectMySQL:
		err = s.onConn(ctx, func(c gorm.ConnPool) error {
			if err := s.examineTable(ctx, c); err != nil {
				return err
			}
			offset, err = s.examineSettings(ctx, c)
			return err
		})
		return offset, err
	case dialectPostgres:
		return s.examineIdentity(ctx)
	case dialectSQLite:
		if s.opts.Step != 1 {
			return 0, fmt.Errorf("%w: SQLite counts in steps of 1, want %d", ErrTicketServer, s.opts.Step)
		}
		return 0, s.store.probe(ctx, s.opts.Table, "SELECT id, 0 FROM "+s.table()+" WHERE stub = ''")
	default:
		return 0, fmt.Errorf("%w: the database is %q, want mysql, postgres or sqlite", ErrTicketServer, s.store.db.Name())
	}
}

// examineTable finds the unique key without which REPLACE is INSERT and the table grows by a row per id.
func (s *ticketServer) examineTable(ctx context.Context, c gorm.ConnPool) error {
	var keys, columns int64
	err := rowOn(ctx, c, dialectMySQL, "SELECT COUNT(*), (SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ?"+
		" AND column_name = 'id' AND extra LIKE '%auto_increment%') FROM (SELECT index_name FROM information_schema.statistics"+
		" WHERE table_schema = DATABASE() AND table_name = ? GROUP BY index_name"+
		" HAVING MAX(non_unique) = 0 AND COUNT(*) = 1 AND MAX(column_name) = 'stub') AS k", []any{s.opts.Table, s.opts.Table}, &keys, &columns)
	switch {
	case err != nil:
		return err
	case columns == 0:
		return fmt.Errorf("%w: table %s has no AUTO_INCREMENT column id", ErrTicketServer, s.opts.Table)
	case keys == 0:
		return fmt.Errorf("%w: table %s has no UNIQUE key on stub alone; REPLACE would insert a row per id", ErrTicketServer, s.opts.Table)
	}
	return nil
}

// examineSettings compares what the session and the server count by with what is wanted, and returns the offset modulo
// Step. A server ignores an offset above the increment, and a session that began before SET GLOBAL goes on as before.
func (s *ticketServer) examineSettings(ctx context.Context, c gorm.ConnPool) (int64, error) {
	var inc, offset, globalInc, globalOffset int64
	err := rowOn(ctx, c, dialectMySQL, "SELECT @@session.auto_increment_increment, @@session.auto_increment_offset,"+
		" @@global.auto_increment_increment, @@global.auto_increment_offset", nil, &inc, &offset, &globalInc, &globalOffset)
	switch {
	case err != nil:
		return 0, err
	case globalInc != s.opts.Step:
		return 0, fmt.Errorf("%w: auto_increment_increment is %d, want %d", ErrTicketServer, globalInc, s.opts.Step)
	case globalOffset < 1 || globalOffset > s.opts.Step:
		return 0, fmt.Errorf("%w: auto_increment_offset is %d, want 1..%d", ErrTicketServer, globalOffset, s.opts.Step)
	case inc != globalInc || offset != globalOffset:
		return 0, fmt.Errorf("%w: the session counts by %d from %d, the server by %d from %d, want both the same", ErrTicketServer, inc, offset, globalInc, globalOffset)
	}
	return offset % s.opts.Step, nil
}

// examineIdentity reads how PostgreSQL's identity column counts.
func (s *ticketServer) examineIdentity(ctx context.Context) (int64, error) {
	var inc, start int64
	err := s.store.row(ctx, "SELECT seqincrement, seqstart FROM pg_sequence WHERE seqrelid = CAST(pg_get_serial_sequence(?, 'id') AS regclass)", []any{s.table()}, &inc, &start)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("%w: table %s has no identity column id", ErrTicketServer, s.opts.Table)
	case err != nil:
		return 0, err
	case inc != s.opts.Step:
		return 0, fmt.Errorf("%w: the identity column counts by %d, want %d", ErrTicketServer, inc, s.opts.Step)
	}
	return start % s.opts.Step, nil
}

// take takes up to n ids.
func (s *ticketServer) take(ctx context.Context, tag string, n int64) (Range, error) {
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

// rangeFrom returns the range of n ids from first on.
func (s *ticketServer) rangeFrom(first, n int64) (Range, error) {
	if first < 1 || first > maxInt64-n*s.opts.Step { // an unsigned id from 2^63 on arrives as a negative one
		return Range{}, fmt.Errorf("%w: %d ids from %d on by %d pass %d", ErrExhausted, n, uint64(first), s.opts.Step, maxInt64)
	}
	return Range{From: first, To: first + (n-1)*s.opts.Step + 1, Stride: s.opts.Step, Origin: s.index}, nil
}

// deadlockTries is how often a REPLACE that lost a deadlock is repeated. Two REPLACEs of one row can deadlock in InnoDB,
// because each deletes the row and inserts it again; the winner is done a moment later.
const deadlockTries = 10

// isDeadlock tells by the text: the driver's error type is not this module's to import.
func isDeadlock(err error) bool { return strings.HasPrefix(err.Error(), "Error 1213 ") }

// onConn runs f on one connection of the pool. One whose session counts wrong is closed, so that a fresh one, which begins with
// the server's settings, takes its place.
func (s *ticketServer) onConn(ctx context.Context, f func(gorm.ConnPool) error) error {
	return s.store.db.WithContext(ctx).Connection(func(tx *gorm.DB) error {
		err := f(tx.Statement.ConnPool)
		if conn, ok := tx.Statement.ConnPool.(*sql.Conn); ok && errors.Is(err, ErrTicketServer) {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // how database/sql is told to close it
		}
		return err
	})
}

func (s *ticketServer) table() string { return s.store.ident(s.opts.Table) }
