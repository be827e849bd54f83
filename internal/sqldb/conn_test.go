package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqldb"
)

var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// open opens a database, and returns its pool too.
func open(t *testing.T, dsn string) (*sqldb.DB, *sql.DB) {
	t.Helper()
	connector, err := dbtest.Connector(mysqldriver.MySQLDriver{}, dsn)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	t.Cleanup(func() { pool.Close() })
	d, err := sqldb.Open("tester", pool, "mysql", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, pool
}

// table creates a database with an empty table T of numbers N.
func table(t *testing.T) (srv *dbtest.Server, name string) {
	t.Helper()
	srv = servers.MariaDB(t)
	name = srv.CreateDB(t)
	srv.Query(t, name, "CREATE TABLE T (N BIGINT PRIMARY KEY)")
	return srv, name
}

func insert(ctx context.Context, n int64) func(*sqldb.Conn) error {
	return func(c *sqldb.Conn) error {
		_, err := c.Exec(ctx, "INSERT INTO T VALUES (?)", n)
		return err
	}
}

// TestDoFails: on a session without autocommit, a function that fails, panics or is cancelled leaves
// no change and no open transaction behind.
func TestDoFails(t *testing.T) {
	t.Parallel()
	srv, name := table(t)
	d, pool := open(t, srv.DSN(name)+"&autocommit=0")
	pool.SetMaxOpenConns(1) // a connection that does not go back to the pool blocks the next Do
	boom := errors.New("boom")
	for kind, fail := range map[string]func(ctx context.Context, cancel func()) error{
		"error":  func(context.Context, func()) error { return boom },
		"cancel": func(ctx context.Context, cancel func()) error { cancel(); return ctx.Err() },
		"cancel before COMMIT": func(_ context.Context, cancel func()) error {
			cancel()
			return nil
		},
		"panic": func(context.Context, func()) error { panic(boom) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := func() (err error) {
			defer func() {
				if p := recover(); p != nil {
					err = p.(error)
				}
			}()
			return d.Do(ctx, func(c *sqldb.Conn) error {
				if err := insert(ctx, 1)(c); err != nil {
					return err
				}
				return fail(ctx, cancel)
			})
		}()
		cancel()
		if err == nil {
			t.Errorf("%s: Do = nil, want an error", kind)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
		var n int64
		err = d.Do(ctx, func(c *sqldb.Conn) error { return c.Row(ctx, "SELECT COUNT(*) FROM T", nil, &n) })
		if err != nil || n != 0 {
			t.Errorf("%s: %d rows, %v, want none", kind, n, err)
		}
		cancel()
	}
	if err := d.Do(t.Context(), insert(t.Context(), 1)); err != nil {
		t.Errorf("Do: %v", err)
	}
	if got := srv.Query(t, name, "SELECT N FROM T"); got != "1" {
		t.Errorf("rows = %q, want 1", got)
	}
}

// TestCommitHangs: a COMMIT without an answer ends with ctx. That of database/sql would wait for as
// long as the connection is open.
func TestCommitHangs(t *testing.T) {
	t.Parallel()
	srv, name := table(t)
	proxy := dbtest.NewProxy(t, srv.Addr())
	d, _ := open(t, srv.DSNVia(proxy.Addr(), name))
	proxy.SetMatching(dbtest.BlackHole, func(b []byte) bool { return strings.Contains(string(b), "COMMIT") })
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- d.Do(ctx, insert(ctx, 1)) }()
	select {
	case err := <-done:
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Do = %v, want the ctx's error", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("Do does not end with its ctx")
	}
}

// TestBeginRefused: connections that refuse BEGIN are closed, however many there are. The first Do
// finds one that does not refuse.
func TestBeginRefused(t *testing.T) {
	t.Parallel()
	srv, name := table(t)
	d, pool := open(t, srv.DSN(name))
	pool.SetMaxIdleConns(5)
	var conns []*sql.Conn
	for i := range 5 {
		c, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.ExecContext(t.Context(), "XA START ?", name+string(rune('a'+i))); err != nil {
			if _, err = c.ExecContext(t.Context(), "XA START '"+name+string(rune('a'+i))+"'"); err != nil {
				t.Fatal(err)
			}
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		c.Close()
	}
	if err := d.Do(t.Context(), insert(t.Context(), 1)); err != nil {
		t.Errorf("Do: %v", err)
	}
	if open := pool.Stats().OpenConnections; open != 1 {
		t.Errorf("%d connections are open, want the one that did not refuse", open)
	}
}

// TestRow: no row and two rows are distinct errors.
func TestRow(t *testing.T) {
	t.Parallel()
	srv, name := table(t)
	d, _ := open(t, srv.DSN(name))
	for want, query := range map[error]string{
		sql.ErrNoRows: "SELECT N FROM T", sqldb.ErrTwoRows: "SELECT 1 UNION SELECT 2", nil: "SELECT 1",
	} {
		var n int64
		err := d.Do(t.Context(), func(c *sqldb.Conn) error { return c.Row(t.Context(), query, nil, &n) })
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", query, err, want)
		}
	}
}
