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

	"github.com/uidring/uidring/internal/sqldb"
)

// server is a driver.Connector whose connections take a while, or none if that is negative.
type server struct {
	takes  time.Duration
	err    error
	until  time.Time // when it stops to refuse; zero: never
	asked  int
	closed int
}

func (*server) Driver() driver.Driver { return nil }

func (s *server) Connect(ctx context.Context) (driver.Conn, error) {
	s.asked++
	if s.takes < 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	time.Sleep(s.takes)
	if s.err != nil && (s.until.IsZero() || time.Now().Before(s.until)) {
		return nil, s.err
	}
	return &connection{server: s}, nil
}

type connection struct {
	driver.Conn
	server *server
}

func (c *connection) Close() error { c.server.closed++; return nil }

// TestHostsPatience: a host that keeps silent costs half a second, and one that refuses none. The next
// connection begins with the host of the last, a second connection that comes too late is closed, and
// each host has a reason.
func TestHostsPatience(t *testing.T) {
	t.Parallel()
	refused := errors.New("refused")
	synctest.Test(t, func(t *testing.T) {
		silent, dead, good := &server{takes: -1}, &server{err: refused}, &server{}
		late := &server{takes: 600 * time.Millisecond}
		all := []*server{silent, dead, late, good}
		hosts := make([]sqldb.Host, len(all))
		for i, s := range all {
			hosts[i] = sqldb.Host{Addr: string(rune('a' + i)), Connector: s}
		}
		h := sqldb.NewHosts(hosts)
		connect := func(want *server, after time.Duration) {
			t.Helper()
			begin := time.Now()
			c, err := h.Connect(t.Context())
			if err != nil || c.(*connection).server != want || time.Since(begin) != after {
				t.Errorf("Connect = %v, %v after %v, want another server after %v", c, err, time.Since(begin), after)
			}
		}
		// Half a second for the silent one and for the late one, whose connection comes meanwhile.
		connect(good, 1100*time.Millisecond)
		connect(good, 0)
		if silent.asked != 1 || dead.asked != 1 || good.asked != 2 || late.closed != 1 {
			t.Errorf("the hosts were asked %d, %d and %d times, and %d connections closed, want 1, 1, 2 and 1",
				silent.asked, dead.asked, good.asked, late.closed)
		}
		good.err = refused
		late.err = errors.New("read-only")
		begin := time.Now()
		_, err := h.Connect(t.Context())
		// The silent one has two seconds, and the late one, which was asked again, a tenth more.
		if took := time.Since(begin); !errors.Is(err, sqldb.ErrNoHost) || took != 2100*time.Millisecond ||
			!strings.Contains(err.Error(), "a: context deadline exceeded") ||
			!strings.Contains(err.Error(), "b: refused") || !strings.Contains(err.Error(), "c: read-only") {
			t.Errorf("Connect with no host = %v after %v, want a reason for each after 2.1s", err, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Connect(ctx); err == nil {
			t.Error("Connect with a ctx that has ended succeeds")
		}
	})
}

// TestHostsTakeOver: a host that takes over while another one keeps silent is connected to at once,
// though it has refused before.
func TestHostsTakeOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next := &server{err: errors.New("read-only"), until: time.Now().Add(700 * time.Millisecond)}
		h := sqldb.NewHosts([]sqldb.Host{{Addr: "a", Connector: &server{takes: -1}}, {Addr: "b", Connector: next}})
		begin := time.Now()
		c, err := h.Connect(t.Context())
		if took := time.Since(begin); err != nil || c.(*connection).server != next || took != time.Second {
			t.Errorf("Connect = %v, %v after %v, want the second host after 1s", c, err, took)
		}
	})
}

// mute is a driver.Connector whose first connections answer once, and keep silent from then on.
type mute struct{ left, opened int }

func (*mute) Driver() driver.Driver { return nil }

func (m *mute) Connect(context.Context) (driver.Conn, error) {
	m.opened++
	m.left--
	return &muted{silent: m.left >= 0}, nil
}

type muted struct {
	driver.Conn
	silent, asked bool
}

func (*muted) Close() error { return nil }

func (c *muted) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	if c.asked && c.silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c.asked = true
	return driver.ResultNoRows, nil
}

// TestIdleSilence: idle connections to a server that was stopped cost a second, however many there are.
func TestIdleSilence(t *testing.T) {
	t.Parallel()
	for idle, most := range map[int]time.Duration{1: time.Second, 8: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			m := &mute{left: idle}
			pool := sql.OpenDB(m)
			defer pool.Close()
			pool.SetMaxIdleConns(idle)
			d, err := sqldb.Open("tester", pool, "postgres", "", nil)
			if err != nil {
				t.Fatal(err)
			}
			var conns []*sql.Conn
			for range idle {
				c, err := pool.Conn(t.Context())
				if err == nil {
					_, err = c.ExecContext(t.Context(), "SELECT 1")
				}
				if err != nil {
					t.Fatal(err)
				}
				conns = append(conns, c)
			}
			for _, c := range conns {
				c.Close()
			}
			begin := time.Now()
			err = d.Do(t.Context(), func(*sqldb.Conn) error { return nil })
			if took := time.Since(begin); err != nil || took < time.Second || took > most || m.opened != idle+1 {
				t.Errorf("with %d idle connections Do = %v after %v, %d were opened, want no error in 1s to %v, %d",
					idle, err, took, m.opened, most, idle+1)
			}
		})
	}
}
