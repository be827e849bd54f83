package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/sqldb"
)

// script is a server that records the statements it gets and answers them as the test says.
type script struct {
	// answer answers a statement. A statement that it does not know succeeds: an Exec changes one
	// row, and a query returns none.
	answer func(query string) (reply, bool)
	refuse error // of new connections

	mu     sync.Mutex
	opened int
	sent   []string
}

// reply answers a statement.
type reply struct {
	err     error          // instead of an answer
	row     []driver.Value // of a query
	changed int64          // rows
	id      int64
	noRows  error // of RowsAffected
	noID    error // of LastInsertId
}

// open returns a database of a dialect on the server, and its pool.
func (s *script) open(t *testing.T, dialect string, l *slog.Logger) (*sqldb.DB, *sql.DB) {
	t.Helper()
	pool := sql.OpenDB(s)
	t.Cleanup(func() { pool.Close() })
	d, err := sqldb.Open("tester", pool, dialect, "", l)
	if err != nil {
		t.Fatal(err)
	}
	return d, pool
}

// idle leaves n idle connections in the pool.
func idle(t *testing.T, pool *sql.DB, n int) {
	t.Helper()
	pool.SetMaxIdleConns(max(1, n))
	conns := make([]*sql.Conn, n)
	for i := range conns {
		var err error
		if conns[i], err = pool.Conn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range slices.Backward(conns) { // the pool returns the last one first
		c.Close()
	}
}

// log returns the statements since the last call. Each begins with the number of its connection.
func (s *script) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() { s.sent = nil }()
	return strings.Join(s.sent, ", ")
}

// beginnings returns the first words of the statements since the last call, without comments.
func (s *script) beginnings() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var words []string
	for _, query := range s.sent {
		_, query, _ = strings.Cut(query, " ")
		for strings.HasPrefix(query, "--") {
			_, query, _ = strings.Cut(query, "\n")
		}
		words = append(words, strings.Fields(query)[0])
	}
	s.sent = nil
	return strings.Join(words, " ")
}

// failing answers with the errors in turn, nil for success, and then always with success.
func failing(errs ...error) func(string) (reply, bool) {
	return func(string) (reply, bool) {
		if len(errs) == 0 || errs[0] == nil {
			errs = errs[min(1, len(errs)):]
			return reply{}, false
		}
		r := reply{err: errs[0]}
		errs = errs[1:]
		return r, true
	}
}

func (s *script) Driver() driver.Driver { return nil }

func (s *script) Connect(context.Context) (driver.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		return nil, s.refuse
	}
	s.opened++
	return &scriptConn{s, s.opened}, nil
}

// scriptConn is one of the server's connections.
type scriptConn struct {
	*script
	number int
}

func (c *scriptConn) Prepare(string) (driver.Stmt, error) { return nil, driver.ErrSkip }
func (c *scriptConn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }
func (c *scriptConn) Close() error                        { return nil }

// get records a statement and answers it.
func (c *scriptConn) get(ctx context.Context, query string) (reply, error) {
	if err := ctx.Err(); err != nil {
		return reply{}, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = append(c.sent, fmt.Sprint(c.number, " ", query))
	if c.answer != nil {
		if r, ok := c.answer(query); ok {
			return r, r.err
		}
	}
	return reply{changed: 1}, nil
}

func (c *scriptConn) ExecContext(
	ctx context.Context, query string, _ []driver.NamedValue,
) (driver.Result, error) {
	r, err := c.get(ctx, query)
	return r, err
}

func (r reply) RowsAffected() (int64, error) { return r.changed, r.noRows }
func (r reply) LastInsertId() (int64, error) { return r.id, r.noID }

func (c *scriptConn) QueryContext(
	ctx context.Context, query string, _ []driver.NamedValue,
) (driver.Rows, error) {
	r, err := c.get(ctx, query)
	return &scriptRows{r}, err
}

// scriptRows are the result of a query, of one row or none.
type scriptRows struct{ reply }

func (r *scriptRows) Close() error      { return nil }
func (r *scriptRows) Columns() []string { return make([]string, len(r.row)) }
func (r *scriptRows) Next(dest []driver.Value) error {
	if len(r.row) == 0 {
		return io.EOF
	}
	copy(dest, r.row)
	r.row = nil
	return nil
}
