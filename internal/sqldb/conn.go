package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"sync/atomic"
	"time"
)

// Conn is a connection whose statements commit themselves. Only one goroutine may use it, and not
// after the function that got it returns.
type Conn struct {
	Dialect
	conn   *sql.Conn
	proven *atomic.Bool // of the DB

	open    bool // a statement was sent since the last COMMIT
	changed bool // one of them has changed or locked rows
}

// Commit commits what the Conn has done so far and gives up its locks. Where each statement commits
// itself it sends nothing.
func (c *Conn) Commit(ctx context.Context) error {
	if c.end != "" {
		if _, err := c.conn.ExecContext(ctx, c.end); err != nil {
			return err
		}
	}
	c.open, c.changed = false, false
	return nil
}

// Do runs f on its own connection. If Do returns nil, every change that f made is committed. If it
// returns an error, each change may or may not be committed: the caller has to read it back, in
// another Do and with ForUpdate.
//
// This holds whatever state the application has left the pooled connection in:
//
//   - Do first ends a transaction that was begun and forgotten. It is committed, with its
//     savepoints, or rolled back if it has failed. SQLite's is rolled back. A connection inside an
//     XA transaction is closed.
//   - With autocommit the statements of f are committed one by one. Without it, which only MySQL
//     has, the COMMIT after f commits them together.
//   - With READ UNCOMMITTED, a row that is read FOR UPDATE still shows committed values, because
//     the read waits for the transaction that changed the row last.
//
// There is no BEGIN before a change. A client that vanishes between a change and its COMMIT would
// leave the row locked until the server gives up on the connection, which takes hours.
//
// Under the ctx of a Session the connection is that of the session.
func (d *DB) Do(ctx context.Context, f func(*Conn) error) error {
	if s, ok := ctx.Value(sessionKey{}).(*session); ok && s.db == d {
		return s.do(ctx, f, false)
	}
	s := session{db: d}
	defer s.close(ctx)
	return s.do(ctx, f, true)
}

// idlePatience is how long a connection that was idle may take to answer the statement that ends a
// forgotten transaction. Each one after it has half of that: their server is stopped, or cut off.
const idlePatience = time.Second

// begin returns a connection without an open transaction. If a connection cannot end its
// transaction, or was idle and keeps silent, begin rolls it back or closes it, and tries again.
// After as many failures as there were idle connections the next one is new, and its error is
// returned.
func (d *DB) begin(ctx context.Context) (*sql.Conn, error) {
	patience := idlePatience
	for idle := d.pool.Stats().Idle; ; idle-- {
		conn, err := d.pool.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if err = d.free(ctx, conn, idle > 0, patience); err == nil {
			return conn, nil
		}
		if errors.Is(err, context.DeadlineExceeded) {
			discard(conn)
		} else {
			d.rollback(ctx, conn)
		}
		conn.Close()
		if idle <= 0 {
			return nil, err
		}
		patience /= 2
	}
}

// free ends a transaction that was begun and forgotten, within patience on an idle connection.
func (d *DB) free(ctx context.Context, c *sql.Conn, idle bool, patience time.Duration) error {
	if idle {
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		ctx = short
	}
	_, err := c.ExecContext(ctx, d.clear)
	return err
}

// rollbackTimeout bounds a ROLLBACK, which is sent even if ctx has ended.
const rollbackTimeout = time.Second

// rollback rolls back the transaction that is open on a connection, if any. If that fails, the
// connection will be closed and not go back to the pool.
func (d *DB) rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		discard(conn)
	}
}

// discard has database/sql close a connection, and not keep it for another use.
func discard(conn *sql.Conn) { _ = conn.Raw(func(any) error { return driver.ErrBadConn }) }

// Discard closes the connection after use. The pool replaces it by a new one, whose session begins
// with the server's settings.
func (c *Conn) Discard() { discard(c.conn) }

// Exec runs a statement and returns its result.
func (c *Conn) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	c.open, c.changed = true, true
	return c.conn.ExecContext(ctx, c.Expand(query), args...)
}

// Changed runs a statement and returns how many rows it changed.
func (c *Conn) Changed(ctx context.Context, query string, args ...any) (n int64, err error) {
	before := c.changed
	result, err := c.Exec(ctx, query, args...)
	if err == nil {
		n, err = result.RowsAffected()
	}
	c.changed = before || n != 0
	return n, err
}

// ErrTwoRows says that a key which has to be unique is not.
var ErrTwoRows = errors.New("more than one row has the key, want a unique key on it")

// Row reads the only row of a query into dest. It returns sql.ErrNoRows if there is no row, and
// ErrTwoRows if there are several.
func (c *Conn) Row(ctx context.Context, query string, args []any, dest ...any) error {
	n := 0
	err := c.Each(ctx, func(r *sql.Rows) error {
		if n++; n > 1 {
			return ErrTwoRows
		}
		return r.Scan(dest...)
	}, query, args...)
	if err == nil && n == 0 {
		err = sql.ErrNoRows
	}
	return err
}

// Each calls scan for every row of a query, until scan returns an error.
func (c *Conn) Each(ctx context.Context, scan func(*sql.Rows) error, query string,
	args ...any) error {
	c.open = true
	c.changed = c.changed || c.ForUpdate != "" && strings.HasSuffix(query, c.ForUpdate)
	rows, err := c.conn.QueryContext(ctx, c.Expand(query), args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
