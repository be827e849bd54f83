package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"sync/atomic"
	"time"
)

// Conn is a connection whose statements commit themselves. Only one goroutine may use it, and not
// after the function that got it returns.
type Conn struct {
	Dialect
	conn   *sql.Conn
	hosts  *Hosts       // of the DB
	proven *atomic.Bool // likewise

	open    bool // a statement was sent since the last COMMIT
	changed bool // one of them has changed or locked rows
}

// Commit commits what the Conn has done so far and gives up its locks. Where each statement commits
// itself it sends nothing.
func (c *Conn) Commit(ctx context.Context) error {
	if c.end != "" {
		if _, err := exec(ctx, c.hosts, c.conn, c.end); err != nil {
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

const (
	// idlePatience is how long a connection that was idle may take to answer, where there is one
	// host; of several each has hostPatience. Each connection after it has half of that: their
	// server is stopped, or cut off.
	idlePatience = time.Second

	// stalePatience is how long it may take to get an idle connection that is to be closed. A
	// driver may first ask it whether it is alive.
	stalePatience = 10 * time.Millisecond
)

// begin returns a connection without an open transaction. If a connection cannot end its
// transaction, or was idle and keeps silent, begin rolls it back or closes it, and tries again.
// After as many failures as there were idle connections the next one is new, and its error is
// returned. Those that were idle when another host took over are closed.
func (d *DB) begin(ctx context.Context) (*sql.Conn, error) {
	idle, patience, stale := d.pool.Stats().Idle, idlePatience, false
	if d.hosts != nil {
		patience = hostPatience
		if moves := d.hosts.moves.Load(); d.moved.Swap(moves) != moves {
			patience, stale = stalePatience, true
		}
	}
	for ; ; idle-- {
		conn, again, err := d.free(ctx, idle > 0, patience, stale)
		if err == nil {
			return conn, nil
		}
		if !again || idle <= 0 {
			return nil, err
		}
		if !stale {
			patience /= 2
		}
	}
}

// errStale is the error of free for a connection that is to be closed.
var errStale = errors.New("an idle connection to the last primary")

// free takes a connection from the pool, and ends a transaction that was begun on it and forgotten.
// One that is idle has patience for that, from the start: a driver may ask whether it is alive, and
// wait for the answer. With stale set it is closed. again reports whether to try another one.
func (d *DB) free(ctx context.Context, idle bool, patience time.Duration, stale bool) (
	_ *sql.Conn, again bool, err error) {
	within := ctx
	if idle {
		short, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		within = short
	}
	conn, err := d.pool.Conn(within)
	if err != nil {
		return nil, within.Err() != nil && ctx.Err() == nil, err
	}
	if idle && stale {
		err = errStale
	} else if _, err = exec(within, d.hosts, conn, d.clear); err == nil {
		return conn, false, nil
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, errTakenOver) ||
		errors.Is(err, errStale) {
		discard(conn)
	} else {
		d.rollback(ctx, conn)
	}
	conn.Close()
	return nil, true, err
}

// exec runs a statement that does not outlast a change of the host.
func exec(ctx context.Context, hosts *Hosts, c *sql.Conn, query string, args ...any) (
	_ sql.Result, err error) {
	within, answered := hosts.watch(ctx)
	defer func() { err = answered(err) }() // also after a panic of the driver
	return c.ExecContext(within, query, args...)
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
	return exec(ctx, c.hosts, c.conn, c.Expand(query), args...)
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
	args ...any) (err error) {
	c.open = true
	c.changed = c.changed || c.locks(query)
	within, answered := c.hosts.watch(ctx)
	defer func() { err = answered(err) }() // also after a panic of scan
	return c.each(within, scan, query, args...)
}

func (c *Conn) each(ctx context.Context, scan func(*sql.Rows) error, query string,
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
