package dbtest_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

var servers = map[string]func(testing.TB, ...string) *dbtest.Server{
	"MariaDB":       dbtest.MariaDB,
	"PostgreSQL":    dbtest.Postgres,
	"MySQL":         dbtest.MySQL,
	"MySQL 5.6":     dbtest.MySQL56,
	"PostgreSQL 18": dbtest.CurrentPostgres,
}

// TestServerLifecycle: what was committed survives every way of going down, at the same address.
func TestServerLifecycle(t *testing.T) {
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t)
			addr, db := s.Addr(), s.CreateDB(t)
			s.Query(t, db, "CREATE TABLE x (n INT)")
			for i, down := range []func() error{s.Stop, s.Kill} {
				s.Query(t, db, "INSERT INTO x VALUES (1)")
				if err := down(); err != nil {
					t.Fatalf("down %d: %v", i, err)
				}
				if c, err := net.Dial("tcp", addr); err == nil {
					c.Close()
					t.Errorf("down %d: somebody accepts connections on %s", i, addr)
				}
				if err := s.Start(); err != nil {
					t.Fatalf("up %d: %v", i, err)
				}
			}
			if got, want := s.Query(t, db, "SELECT COUNT(*) FROM x"), "2"; got != want {
				t.Errorf("rows = %s, want %s", got, want)
			}
			if s.Addr() != addr {
				t.Errorf("address = %s, want still %s", s.Addr(), addr)
			}
			if dsn := s.DSN(db); !strings.Contains(dsn, addr) || !strings.Contains(dsn, db) {
				t.Errorf("DSN = %q, want it to contain %q and %q", dsn, addr, db)
			}
		})
	}
}

// TestServerPause: a paused server accepts connections (its kernel does) and answers nobody until
// it is resumed.
func TestServerPause(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if n, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read from a paused server = %d, %v, want a timeout", n, err)
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.Read(make([]byte, 1)); err != nil {
		t.Errorf("read from a resumed server: %v", err)
	}
}

// TestServerEndsWithTestBinary: a test binary that is killed takes its server along.
func TestServerEndsWithTestBinary(t *testing.T) {
	if os.Getenv("DBTEST_CHILD") == "1" {
		s := dbtest.MariaDB(t)
		os.Stdout.WriteString("addr=" + s.Addr() + "\n")
		select {}
	}
	t.Parallel()
	dbtest.MariaDB(t).Close() // skips here, and not in the child, if there is none
	if _, err := os.Stat("/proc/self"); err != nil {
		t.Skip("skipped: needs Linux")
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestServerEndsWithTestBinary$")
	// The kernel cannot run the child's clean-up, so its server's directory has to be under this
	// test's.
	cmd.Env = append(os.Environ(), "DBTEST_CHILD=1", "TMPDIR="+t.TempDir())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen bytes.Buffer
	buf := make([]byte, 256)
	for !strings.Contains(seen.String(), "\n") {
		n, err := out.Read(buf)
		if err != nil {
			t.Fatalf("child: %v: %s", err, seen.String())
		}
		seen.Write(buf[:n])
	}
	_, addr, ok := strings.Cut(strings.TrimSpace(seen.String()), "addr=")
	if !ok {
		t.Fatalf("child says %q", seen.String())
	}
	cmd.Process.Kill()
	cmd.Wait()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatalf("the server on %s outlives the test binary that started it", addr)
		}
	}
}

// TestProxy runs every fault against a server that counts the requests which it sees.
func TestProxy(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		fault     dbtest.Fault
		wantSeen  string // by the server
		wantReply bool
	}{
		{"none", dbtest.None, "ab", true},
		{"refuse", dbtest.Refuse, "a", false},
		{"cut before request", dbtest.CutBeforeRequest, "a", false},
		{"cut before reply", dbtest.CutBeforeReply, "ab", false},
		{"cut after request", dbtest.CutAfterRequest, "ab", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := newEcho(t)
			p := dbtest.NewProxy(t, e.addr())
			c := dial(t, p.Addr())
			if !ask(c, "a") {
				t.Fatal("no reply before the fault")
			}
			p.Set(tt.fault)
			if got := ask(c, "b"); got != tt.wantReply {
				t.Errorf("reply = %v, want %v", got, tt.wantReply)
			}
			if got := e.wait(tt.wantSeen); got != tt.wantSeen {
				t.Errorf("the server saw %q, want %q", got, tt.wantSeen)
			}
			if tt.fault != dbtest.None && tt.fault != dbtest.Refuse && p.Hits() != 1 {
				t.Errorf("hits = %d, want 1", p.Hits())
			}
			p.Set(dbtest.None)
			if !ask(dial(t, p.Addr()), "c") {
				t.Error("no reply after the network was healed")
			}
		})
	}
}

// TestProxyOnce: a fault for one matching request leaves the ones before and after it alone.
func TestProxyOnce(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := dbtest.NewProxy(t, e.addr())
	p.SetOnce(dbtest.CutBeforeReply, func(b []byte) bool { return bytes.Contains(b, []byte("x")) })
	for _, step := range []struct {
		request string
		want    bool
	}{{"a", true}, {"x", false}, {"x", true}, {"b", true}} {
		if got := ask(dial(t, p.Addr()), step.request); got != step.want {
			t.Errorf("reply to %q = %v, want %v", step.request, got, step.want)
		}
	}
}

// TestProxyBlackHole: nothing passes, nothing is closed, and what was sent arrives late.
func TestProxyBlackHole(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := dbtest.NewProxy(t, e.addr())
	c := dial(t, p.Addr())
	p.Set(dbtest.BlackHole)
	io.WriteString(c, "a")
	c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("read through a black hole: %v, want a timeout", err)
	}
	p.Set(dbtest.None)
	c.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
		t.Errorf("read after the black hole: %v", err)
	}
}

// TestProxyDelay: a delay counts in both directions.
func TestProxyDelay(t *testing.T) {
	t.Parallel()
	e := newEcho(t)
	p := dbtest.NewProxy(t, e.addr())
	c := dial(t, p.Addr())
	const d = 50 * time.Millisecond
	p.Delay(d)
	begin := time.Now()
	if !ask(c, "a") {
		t.Fatal("no reply")
	}
	if got := time.Since(begin); got < 2*d {
		t.Errorf("the reply took %v, want at least %v", got, 2*d)
	}
}

// echo is a server that sends back what it gets and remembers it.
type echo struct {
	l    net.Listener
	seen chan byte
	got  []byte
}

func newEcho(t *testing.T) *echo {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e := &echo{l: l, seen: make(chan byte, 64)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 1)
				for {
					if _, err := c.Read(b); err != nil {
						return
					}
					e.seen <- b[0]
					c.Write(b)
				}
			}()
		}
	}()
	return e
}

func (e *echo) addr() string { return e.l.Addr().String() }

// wait returns what the server has seen, once it has seen as much as want, and a little later.
func (e *echo) wait(want string) string {
	for {
		d := 5 * time.Second
		if len(e.got) >= len(want) {
			d = 20 * time.Millisecond
		}
		select {
		case b := <-e.seen:
			e.got = append(e.got, b)
		case <-time.After(d):
			return string(e.got)
		}
	}
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask reports whether the one-byte request is answered.
func ask(c net.Conn, request string) bool {
	c.SetDeadline(time.Now().Add(10 * time.Second))
	io.WriteString(c, request)
	_, err := io.ReadFull(c, make([]byte, 1))
	return err == nil
}
