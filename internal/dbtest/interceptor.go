package dbtest

import (
	"context"
	"database/sql/driver"
	"errors"
)

// Interceptor is a driver.Connector whose connections pass each statement on to one of several
// databases. sql.OpenDB makes a pool of it. A Proxy sees bytes; an Interceptor sees statements.
type Interceptor struct {
	// Connectors are the databases. A connection to each is made when a statement needs it.
	Connectors []driver.Connector

	// Pick returns the index of the database that a statement goes to. nil: the first one.
	Pick func(query string) int

	// Around is called for every statement without a result set; run passes the statement on. What
	// Around returns is the statement's error. nil: just run.
	Around func(query string, run func() error) error

	// Through is Around with the statement's ctx, for statements with a result set as well. nil: it
	// is Around.
	Through func(ctx context.Context, query string, run func() error) error

	// Seen is called before every statement is passed on. nil: nothing is called.
	Seen func(query string, args []driver.NamedValue)

	// KeepSession keeps the driver from looking at a connection that is used again, and so from
	// closing one that is inside a transaction.
	KeepSession bool
}

// Connector returns the connector of a driver for a data source name.
func Connector(d driver.Driver, dsn string) (driver.Connector, error) {
	if dc, ok := d.(driver.DriverContext); ok {
		return dc.OpenConnector(dsn)
	}
	return opener{d, dsn}, nil
}

// opener is the connector of a driver that has none.
type opener struct {
	driver driver.Driver
	dsn    string
}

func (o opener) Driver() driver.Driver                        { return o.driver }
func (o opener) Connect(context.Context) (driver.Conn, error) { return o.driver.Open(o.dsn) }

// Connect returns a connection that is not connected to any database yet.
func (i *Interceptor) Connect(context.Context) (driver.Conn, error) {
	return &interceptedConn{i: i, conns: make([]driver.Conn, len(i.Connectors))}, nil
}

// Driver returns the driver of the first database.
func (i *Interceptor) Driver() driver.Driver { return i.Connectors[0].Driver() }

// interceptedConn is a connection to each of the databases, nil where there is none yet.
type interceptedConn struct {
	i     *Interceptor
	conns []driver.Conn
}

func (c *interceptedConn) pick(ctx context.Context, query string) (driver.Conn, error) {
	n := 0
	if c.i.Pick != nil {
		n = c.i.Pick(query)
	}
	if c.conns[n] == nil {
		conn, err := c.i.Connectors[n].Connect(ctx)
		if err != nil {
			return nil, err
		}
		c.conns[n] = conn
	}
	return c.conns[n], nil
}

func (c *interceptedConn) ExecContext(ctx context.Context, query string,
	args []driver.NamedValue) (result driver.Result, err error) {
	conn, err := c.pick(ctx, query)
	if err != nil {
		return nil, err
	}
	if c.i.Seen != nil {
		c.i.Seen(query, args)
	}
	run := func() error {
		result, err = conn.(driver.ExecerContext).ExecContext(ctx, query, args)
		return err
	}
	switch {
	case c.i.Through != nil:
		err = c.i.Through(ctx, query, run)
	case c.i.Around != nil:
		err = c.i.Around(query, run)
	default:
		err = run()
	}
	if err != nil {
		return nil, err
	}
	return result, nil
}

func (c *interceptedConn) QueryContext(ctx context.Context, query string,
	args []driver.NamedValue) (rows driver.Rows, err error) {
	conn, err := c.pick(ctx, query)
	if err != nil {
		return nil, err
	}
	if c.i.Seen != nil {
		c.i.Seen(query, args)
	}
	queryer := conn.(driver.QueryerContext)
	if c.i.Through == nil {
		return queryer.QueryContext(ctx, query, args)
	}
	err = c.i.Through(ctx, query, func() error {
		rows, err = queryer.QueryContext(ctx, query, args)
		return err
	})
	if err != nil {
		if rows != nil {
			rows.Close()
		}
		return nil, err
	}
	return rows, nil
}

func (c *interceptedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	conn, err := c.pick(ctx, query)
	if err != nil {
		return nil, err
	}
	return conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
}

func (c *interceptedConn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

func (c *interceptedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	conn, err := c.pick(ctx, "BEGIN")
	if err != nil {
		return nil, err
	}
	return conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c *interceptedConn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

func (c *interceptedConn) ResetSession(ctx context.Context) error {
	if c.i.KeepSession {
		return nil
	}
	var errs []error
	for _, conn := range c.conns {
		if r, ok := conn.(driver.SessionResetter); ok {
			errs = append(errs, r.ResetSession(ctx))
		}
	}
	return errors.Join(errs...)
}

func (c *interceptedConn) CheckNamedValue(v *driver.NamedValue) error {
	conn, err := c.pick(context.Background(), "")
	if err != nil {
		return err
	}
	if checker, ok := conn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}

func (c *interceptedConn) Close() error {
	var errs []error
	for _, conn := range c.conns {
		if conn != nil {
			errs = append(errs, conn.Close())
		}
	}
	return errors.Join(errs...)
}
