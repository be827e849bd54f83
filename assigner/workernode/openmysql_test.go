package workernode_test

import (
	"context"
	"database/sql"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/sqldb"
	"gorm.io/driver/mysql"
)

// TestOpenMySQLConfig: what OpenMySQL sets, and what a DSN sets otherwise.
func TestOpenMySQLConfig(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		params               string
		connect, read, write time.Duration
		zone                 string
		together             bool // a statement and its arguments
	}{
		{"", 5 * time.Second, 10 * time.Second, 10 * time.Second, "'+00:00'", true},
		{"?timeout=1s", time.Second, 10 * time.Second, 10 * time.Second, "'+00:00'", true},
		{"?readTimeout=1s", 5 * time.Second, time.Second, 10 * time.Second, "'+00:00'", true},
		{"?writeTimeout=1s&parseTime=false&loc=Local", 5 * time.Second, 10 * time.Second, time.Second,
			"'+00:00'", true},
		{"?time_zone=%27SYSTEM%27", 5 * time.Second, 10 * time.Second, 10 * time.Second, "'SYSTEM'", true},
		{"?rejectReadOnly=true", 5 * time.Second, 10 * time.Second, 10 * time.Second, "'+00:00'", true},
		{"?charset=utf8mb4", 5 * time.Second, 10 * time.Second, 10 * time.Second, "'+00:00'", false},
		{"?collation=utf8mb4_bin", 5 * time.Second, 10 * time.Second, 10 * time.Second, "'+00:00'", false},
	} {
		db, err := workernode.OpenMySQL("user:pw@tcp(127.0.0.1:1)/db" + tt.params)
		if err != nil {
			t.Fatal(err)
		}
		cfg := db.Dialector.(*mysql.Dialector).DSNConfig
		if cfg.Timeout != tt.connect || cfg.ReadTimeout != tt.read || cfg.WriteTimeout != tt.write {
			t.Errorf("%q: timeouts = %v, %v, %v, want %v, %v, %v", tt.params,
				cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout, tt.connect, tt.read, tt.write)
		}
		if zone := cfg.Params["time_zone"]; zone != tt.zone || cfg.InterpolateParams != tt.together {
			t.Errorf("%q: time zone = %s, arguments sent with the statement: %v, want %s, %v",
				tt.params, zone, cfg.InterpolateParams, tt.zone, tt.together)
		}
		if !cfg.ParseTime || cfg.Loc != time.UTC || cfg.RejectReadOnly || !db.SkipDefaultTransaction {
			t.Errorf("%q: the configuration is %+v, want times parsed as UTC, read-only servers that say so, "+
				"and no transaction for a single statement", tt.params, cfg)
		}
		if n := pool(t, db).Stats().MaxOpenConnections; n != 4 {
			t.Errorf("%q: the pool has up to %d connections, want 4", tt.params, n)
		}
		pool(t, db).Close()
	}
}

// fakeMySQL speaks as much of MySQL's protocol as a statement without a result needs.
type fakeMySQL struct {
	dials atomic.Int64 // the connection of the first is read-only
	left  atomic.Int64 // the last dial's time, in nanoseconds; 0: no end
}

// dial returns a connection to the server. On the first one it is read-only.
func (s *fakeMySQL) dial(ctx context.Context, _ string) (net.Conn, error) {
	if end, ok := ctx.Deadline(); ok {
		s.left.Store(int64(time.Until(end)))
	}
	client, server := net.Pipe()
	go s.serve(server, s.dials.Add(1) == 1)
	return client, nil
}

func (s *fakeMySQL) serve(c net.Conn, readOnly bool) {
	defer c.Close()
	const ok = "\x00\x00\x00\x02\x00\x00\x00"
	answer := "\x0a5.7.0\x00\x01\x00\x00\x0012345678\x00\x01\x82\x21\x02\x00\x08\x00\x15" +
		strings.Repeat("\x00", 10) + "123456789012\x00mysql_native_password\x00" // the greeting
	for n := byte(0); ; {
		if _, err := c.Write(append([]byte{byte(len(answer)), 0, 0, n}, answer...)); err != nil {
			return
		}
		var head [4]byte
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		request := make([]byte, int(head[0])|int(head[1])<<8)
		if _, err := io.ReadFull(c, request); err != nil {
			return
		}
		n, answer = head[3]+1, ok
		switch text := string(request); {
		case strings.Contains(text, "no answer"):
			io.Copy(io.Discard, c)
			return
		case strings.Contains(text, "write") && readOnly:
			answer = "\xff\x0a\x05#HY000read-only" // 1290
		}
	}
}

// TestOpenMySQLPool: a server that is read-only says so, and a Do leaves its connection. The pool gives
// up a server that does not answer, keeps one connection for a moment, and replaces one that is in use
// all the time.
func TestOpenMySQLPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var srv fakeMySQL
		mysqldriver.RegisterDialContext("fake", srv.dial)
		db, err := workernode.OpenMySQL("user:pw@fake(h:1)/db")
		if err != nil {
			t.Fatal(err)
		}
		p := pool(t, db)
		defer p.Close()
		d, err := sqldb.Open("tester", p, "mysql", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		write := func(c *sqldb.Conn) error {
			_, err := c.Exec(t.Context(), "write")
			return err
		}
		if err := d.Do(t.Context(), write); sqldb.MySQLCode(err) != 1290 {
			t.Errorf("a statement at a server that went read-only = %v, want error 1290", err)
		}
		if err := d.Do(t.Context(), write); err != nil || srv.dials.Load() != 2 {
			t.Errorf("the next one = %v after %d connections, want success on the second", err, srv.dials.Load())
		}
		if left := time.Duration(srv.left.Load()); left != 5*time.Second {
			t.Errorf("a connection has %v to be made, want 5s", left)
		}

		begin := time.Now()
		if _, err := p.ExecContext(t.Context(), "no answer"); err == nil || time.Since(begin) != 10*time.Second {
			t.Errorf("a statement without an answer = %v after %v, want an error after 10s", err, time.Since(begin))
		}

		conns := make([]*sql.Conn, 4)
		for i := range conns {
			if conns[i], err = p.Conn(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range conns {
			c.Close()
		}
		if n := p.Stats().Idle; n != 1 {
			t.Errorf("%d connections are idle, want 1", n)
		}

		dials := srv.dials.Load()
		for begin := time.Now(); time.Since(begin) < 6*time.Minute; time.Sleep(1900 * time.Millisecond) {
			if _, err := p.ExecContext(t.Context(), "write"); err != nil {
				t.Fatal(err)
			}
			// Its age at this use.
			if age := time.Since(begin); (srv.dials.Load() > dials) != (age > 5*time.Minute) {
				t.Fatalf("%d connections more after %v, want one after 5m", srv.dials.Load()-dials, age)
			}
		}
		time.Sleep(3 * time.Second)
		if n := p.Stats().OpenConnections; n != 0 {
			t.Errorf("%d connections are open after 3s without use, want 0", n)
		}
	})
}
