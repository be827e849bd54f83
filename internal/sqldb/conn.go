package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"
)

// Conn is a connection whose statements commit themselves. One goroutine uses it, until the
// function that got it returns.
type Conn struct {
	Dialect
	conn   *sql.Conn
	proven *atomic.Bool // of the DB
}

// Do runs f on a connection of its own. When Do returns nil, every change that f made is committed.
// When it returns an error, each may or may not be made: the caller has to read it back, in another
// Do and with ForUpdate.
//
// That holds whatever the application has left on the pooled connection, because Do first ends the
// transaction that may be open, and because the statements of f are committed one by one:
//
// - A transaction that was begun and forgotten is committed, with its savepoints, or rolled back if
// it
//
//	  has failed. SQLite's is rolled back. A connection inside an XA transaction is closed.
//	- Without autocommit, which is MySQL's alone, the COMMIT that follows f commits them together.
//	- READ UNCOMMITTED: what a row FOR UPDATE shows is committed at every isolation level, because
//	  it waits for the transaction that changed the row last.
//
// There is no BEGIN before a change, because a client that vanishes between a change and its COMMIT
// leaves the row locked until the server gives up on the connection, which takes hours.
func (d *DB) Do(ctx context.Context, f func(*Conn) error) error {
	conn, err := d.begin(ctx)
	if err != nil {
		return err
	}
	committed := d.end == ""
	defer func() { // after a panic of f as well
		if !committed {
			d.rollback(ctx, conn)
		}
		conn.Close()
	}()
	c := &Conn{Dialect: d.Dialect, conn: conn, proven: d.proven}
	if err = d.admit(ctx, c); err == nil {
		err = f(c)
	}
	if err == nil && !committed {
		_, err = conn.ExecContext(ctx, d.end)
		committed = err == nil
	}
	return err
}

// begin returns a connection without an open transaction. One that refuses to be is rolled back.
// When as many have refused as were idle, the next is new, and what it says is final.
func (d *DB) begin(ctx context.Context) (*sql.Conn, error) {
	for idle := d.pool.Stats().Idle; ; idle-- {
		conn, err := d.pool.Conn(ctx)
		if err != nil {
			return nil, err
		}
		if _, err = conn.ExecContext(ctx, d.clear); err == nil {
			return conn, nil
		}
		d.rollback(ctx, conn)
		conn.Close()
		if idle <= 0 || ctx.Err() != nil {
			return nil, err
		}
	}
}

// rollbackTimeout bounds a ROLLBACK, which has to be sent after ctx has ended too.
const rollbackTimeout = time.Second

// rollback ends the transaction that is open on a connection, if one is, or makes Close end the
// connection.
func (d *DB) rollback(ctx context.Context, conn *sql.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	if _, err := conn.ExecContext(ctx, "ROLLBACK"); err != nil {
		// How database/sql is told to close it.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
	}
}

// Discard closes the connection. Its place in the pool is taken by a new one, which begins with the
// server's settings.
func (c *Conn) Discard() {
	// How database/sql is told to close it.
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
}

// Exec runs a statement and returns its result.
func (c *Conn) Exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return c.conn.ExecContext(ctx, c.Expand(query), args...)
}

// Changed runs a statement and returns how many rows it changed.
func (c *Conn) Changed(ctx context.Context, query string, args ...any) (int64, error) {
	result, err := c.Exec(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// ErrTwoRows says that a key which has to be unique is not.
var ErrTwoRows = errors.New("more than one row has the key, want a unique key on it")

// Row reads the only row of a query into dest. None is sql.ErrNoRows, two are ErrTwoRows.
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

// Each calls scan for every row of a query.
func (c *Conn) Each(ctx context.Context, scan func(*sql.Rows) error, query string,
	args ...any) error {
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
