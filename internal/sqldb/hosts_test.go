package sqldb_test

import (
	"context"
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
	if s.err != nil {
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
		if took := time.Since(begin); !errors.Is(err, sqldb.ErrNoHost) || took != 2*time.Second ||
			!strings.Contains(err.Error(), "a: context deadline exceeded") ||
			!strings.Contains(err.Error(), "b: refused") || !strings.Contains(err.Error(), "c: read-only") {
			t.Errorf("Connect with no host = %v after %v, want a reason for each after 2s", err, took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.Connect(ctx); err == nil {
			t.Error("Connect with a ctx that has ended succeeds")
		}
	})
}
