package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/sqldb"
)

// member is a driver.Connector of a server that is stopped at some time, and can be written to from
// another one on. Its statements take a while.
type member struct {
	takes   time.Duration // a statement
	stops   time.Time     // zero: never
	primary time.Time     // zero: from the start
	done    int           // statements that were answered
	yields  bool          // a statement whose ctx ends is answered as done
}

func (*member) Driver() driver.Driver { return nil }

// answer waits for the answer to what takes d.
func (m *member) answer(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
		if m.stops.IsZero() || time.Now().Before(m.stops) {
			return nil
		}
		<-ctx.Done()
	}
	return ctx.Err()
}

func (m *member) Connect(ctx context.Context) (driver.Conn, error) {
	if err := m.answer(ctx, 0); err != nil {
		return nil, err
	}
	if time.Now().Before(m.primary) {
		return nil, errors.New("read-only")
	}
	return &memberConn{member: m}, nil
}

type memberConn struct {
	driver.Conn
	member *member
}

func (*memberConn) Close() error { return nil }

func (c *memberConn) ResetSession(ctx context.Context) error { // as pgx's
	if c.member.answer(ctx, 0) != nil {
		return driver.ErrBadConn
	}
	return nil
}

func (c *memberConn) ExecContext(ctx context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	takes := c.member.takes
	if strings.Contains(query, "COMMIT") {
		takes = 0
	}
	if err := c.member.answer(ctx, takes); err != nil && !c.member.yields {
		return nil, err
	}
	c.member.done++
	return driver.ResultNoRows, nil
}

// members opens a pool of servers.
func members(t *testing.T, m ...*member) (*sqldb.DB, *sql.DB) {
	t.Helper()
	var hosts []sqldb.Host
	for i, one := range m {
		hosts = append(hosts, sqldb.Host{Addr: string(rune('a' + i)), Connector: one})
	}
	pool := sql.OpenDB(sqldb.NewHosts(hosts))
	t.Cleanup(func() { pool.Close() })
	pool.SetMaxIdleConns(10)
	d, err := sqldb.Open("tester", pool, "postgres", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, pool
}

// keep leaves n connections idle.
func keep(t *testing.T, pool *sql.DB, n int) {
	t.Helper()
	var conns []*sql.Conn
	for range n {
		c, err := pool.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	for _, c := range conns {
		c.Close()
	}
}

// change runs a statement until it is answered.
func change(ctx context.Context, d *sqldb.DB) error {
	return d.Retry(ctx, "changing", func(ctx context.Context) error {
		return d.Do(ctx, func(c *sqldb.Conn) error {
			_, err := c.Exec(ctx, "UPDATE T")
			return err
		})
	})
}

// TestTakeOver: a statement that a stopped server has is carried out by another one within two seconds
// of the time when that can be written to, whenever that is, and however many connections to the first
// are idle.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	for after := time.Duration(0); after < 4*time.Second; after += 300 * time.Millisecond {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			stopped := &member{takes: time.Second, stops: begin.Add(time.Millisecond)}
			next := &member{primary: begin.Add(2*time.Millisecond + after)}
			third := &member{primary: begin.Add(time.Hour)}
			d, pool := members(t, stopped, third, next)
			keep(t, pool, 10)
			if err := change(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(next.primary); took > 1900*time.Millisecond || next.done != 2 {
				t.Errorf("with the next primary after %v the statement took until %v after that, and %d were "+
					"carried out there, want less than 1.9s and 2, with that which begins", after, took, next.done)
			}
		})
	}
}

// TestTakeOverYields: a statement that its host calls done when it is cancelled, as PostgreSQL does with
// a COMMIT that waits for a standby, is carried out by the one that has taken over, which lacks it.
func TestTakeOverYields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		old := &member{takes: time.Second, stops: begin.Add(time.Millisecond), yields: true}
		next := &member{primary: begin.Add(2 * time.Millisecond)}
		d, _ := members(t, old, next)
		if err := change(t.Context(), d); err != nil || next.done != 2 {
			t.Errorf("a statement = %v, %d carried out by the next host, want 2, with that which begins",
				err, next.done)
		}
	})
}

// TestTakeOverSlow: a statement that takes long is waited for, as long as no other host can be written
// to, or its own one answers.
func TestTakeOverSlow(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]*member{
		"the other is read-only":       {primary: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"the other can be written to":  {},
		"the other is stopped as well": {stops: time.Unix(1, 0)},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			slow := &member{takes: 9 * time.Second}
			d, _ := members(t, slow, other)
			if err := change(t.Context(), d); err != nil || time.Since(begin) != slow.takes || slow.done != 2 {
				t.Errorf("%s: a statement of %v = %v after %v, %d carried out, want it carried out at once",
					name, slow.takes, err, time.Since(begin), slow.done)
			}
		})
	}
}

// TestTakeOverIdle: idle connections to a server that was stopped cost a second, however many there
// are, and the search for the next one half of that.
func TestTakeOverIdle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped, next := &member{}, &member{primary: time.Now().Add(time.Second)}
		d, pool := members(t, stopped, next)
		keep(t, pool, 8)
		stopped.stops = time.Now()
		time.Sleep(time.Second)
		begin := time.Now()
		if err := change(t.Context(), d); err != nil || time.Since(begin) > 1500*time.Millisecond {
			t.Errorf("a statement = %v after %v, want at most 1.5s", err, time.Since(begin))
		}
	})
}

// TestTakeOverMySQL: the same with MySQL's driver, whose read timeout is 10 seconds. The statement takes
// a second, and its server stops meanwhile.
func TestTakeOverMySQL(t *testing.T) {
	t.Parallel()
	stopped, next := dbtest.MariaDB(t), dbtest.MariaDB(t)
	next.Exec(t, "SET GLOBAL read_only = 1")
	cfg, err := mysqldriver.ParseDSN(stopped.DSN("") + "&readTimeout=10s")
	if err != nil {
		t.Fatal(err)
	}
	h, err := sqldb.MySQLHosts(cfg, []string{stopped.Addr(), next.Addr()})
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(h)
	defer pool.Close()
	d, err := sqldb.Open("tester", pool, "mysql", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 1)
	go func() {
		errs <- d.Retry(t.Context(), "sleeping", func(ctx context.Context) error {
			return d.Do(ctx, func(c *sqldb.Conn) error {
				_, err := c.Exec(ctx, "DO SLEEP(1)")
				return err
			})
		})
	}()
	time.Sleep(300 * time.Millisecond)
	if err := stopped.Pause(); err != nil {
		t.Fatal(err)
	}
	defer stopped.Resume()
	next.Exec(t, "SET GLOBAL read_only = 0")
	begin := time.Now()
	if err := <-errs; err != nil || time.Since(begin) > 3*time.Second {
		t.Errorf("a statement of a second = %v, %v after the next server could be written to, want 3s at most",
			err, time.Since(begin))
	}
}
