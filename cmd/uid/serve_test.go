package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/uid"
)

// served is a server in process.
type served struct {
	base  string     // of its addresses
	stop  func() int // as SIGTERM does; returns the exit status
	mu    sync.Mutex
	wrote strings.Builder // on stderr
}

// Write keeps what the server writes on stderr.
func (s *served) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote.Write(b)
}

// stderr returns what the server has written so far.
func (s *served) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote.String()
}

// serve starts a server on a free port and waits until it says its address.
func (b *bench) serve(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	s := &served{}
	p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.MultiWriter(s, w), now: b.clock,
		getenv: func(key string) string { return b.env[key] }, cacheDir: func() (string, error) { return b.cache, nil }}
	code := 0
	ended := make(chan struct{})
	go func() {
		code = p.run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...))
		w.Close()
		close(ended)
	}()
	s.stop = func() int {
		cancel(signalError{syscall.SIGTERM})
		<-ended
		return code
	}
	t.Cleanup(func() { s.stop() })
	var first strings.Builder
	buf := make([]byte, 4096)
	address := regexp.MustCompile(`serving on (http://127\.0\.0\.1:\d+)\n`)
	for s.base == "" {
		n, err := r.Read(buf)
		first.Write(buf[:n])
		if m := address.FindStringSubmatch(first.String()); m != nil {
			s.base = m[1]
		} else if err != nil {
			t.Fatalf("says %q, want an address", first.String())
		}
	}
	go io.Copy(io.Discard, r) // ends with w
	return s
}

// get returns what the server answers. Each call has a connection of its own, and so another
// goroutine at the other end.
func (s *served) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(s.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// ok returns what the server answers, with status 200.
func (s *served) ok(t *testing.T, path string) string {
	t.Helper()
	status, body := s.get(t, path)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}

// TestServe: the server tells its address, hands out ids on Leaf's routes, and gives everything
// back when it is stopped.
func TestServe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "1000")
	s := b.serve(t)
	for i, want := range []string{"1", "2", "3"} {
		if got := s.ok(t, "/api/segment/get/order"); got != want {
			t.Errorf("segment id %d is %s, want %s", i, got, want)
		}
	}
	last := uid.ID(0)
	for range 100 {
		id, err := uid.ParseID(s.ok(t, "/api/snowflake/get/x"))
		if err != nil || id <= last {
			t.Fatalf("%d after %d, %v, want ids of one server to rise", id, last, err)
		}
		last = id
	}
	for path, want := range map[string]string{
		"/metrics":   `uidring_status{generator="snowflake",status="up"} 1`,
		"/metrics?":  `uidring_segment_left_ids{generator="segment",tag="order"} `,
		"/debug/uid": "<h2>snowflake</h2>",
	} {
		if got := s.ok(t, path); !strings.Contains(got, want) {
			t.Errorf("%s has no %s", path, want)
		}
	}
	if got := s.ok(t, "/health"); !strings.Contains(got, `"up"`) {
		t.Errorf("health is %s, want up", got)
	}
	if status, _ := s.get(t, "/api/segment/get/"+strings.Repeat("x", 64<<10)); status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a key of 64 KiB = %d, want 431", status)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("status %d after SIGTERM, want 0: being stopped is how a server ends", code)
	}
	b.check(t, exitOK, "\"next\":\"4\"", "", "segment", "list", "--json")
}

// TestServeLayout: ids are made and taken apart by the layout that the flags name, Leaf's if they
// name none.
func TestServeLayout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for layout, args := range map[string][]string{"leaf": nil, "default": {"--layout", "default"}, "40-10-13/1ms@2026-01-01T00:00:00Z": {"--layout", "40-10-13", "--tick", "1ms"}} {
		s := b.serve(t, append([]string{"--only", "snowflake", "--namespace", layout}, args...)...)
		id := s.ok(t, "/api/snowflake/get/x")
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		alloc := mustLayout(t, layout).alloc
		tick, worker, seq, _ := alloc.Split(n)
		want := fmt.Sprintf(`{"sequenceId":"%d","timestamp":"%d(`, seq, alloc.TimeAt(tick).UnixMilli())
		if got := s.ok(t, "/decodeSnowflakeId?snowflakeId="+id); !strings.HasPrefix(got, want) || !strings.Contains(got, fmt.Sprintf(`"workerId":"%d"`, worker)) {
			t.Errorf("%s: %s is %s, want %s and worker id %d", layout, id, got, want, worker)
		}
		if age := time.Since(alloc.TimeAt(tick)); age < -time.Minute || age > time.Minute {
			t.Errorf("%s: %s was made %v ago, want a moment", layout, id, age)
		}
		s.stop()
	}
}

// TestServePage: neither the page nor the log shows the password, even where the database's name is
// the same word.
func TestServePage(t *testing.T) {
	t.Parallel()
	server := servers.MariaDB(t)
	b := newBench(t)
	word := "hunter_" + server.CreateDB(t)
	server.Exec(t, "CREATE DATABASE "+word, "CREATE USER a_"+word+" IDENTIFIED BY '"+word+"'", "GRANT ALL ON "+word+".* TO a_"+word)
	b.env["UID_DSN"] = fmt.Sprintf("mysql://a_%s:%s@%s/%s", word, word, server.Addr(), word)
	b.check(t, exitOK, "", "", "segment", "init")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "1")
	s := b.serve(t, "--only", "segment")
	s.ok(t, "/api/segment/get/order")
	server.Exec(t, "DROP TABLE "+word+".leaf_alloc")
	for status := http.StatusOK; status == http.StatusOK; { // until the ranges that were fetched are used up
		status, _ = s.get(t, "/api/segment/get/order")
	}
	page := s.ok(t, "/")
	if !strings.Contains(page, "leaf_alloc") || !strings.Contains(page, dsn.Hidden) ||
		strings.Contains(page, word) {
		t.Errorf("the page is %s\nwant the reason without the password", page)
	}
	s.stop()
	if got := s.stderr(); !strings.Contains(got, "no id") || !strings.Contains(got, dsn.Hidden) ||
		strings.Contains(got, word) {
		t.Errorf("stderr is %s\nwant the reason without the password", got)
	}
}

// TestServeStopped: a server with a hundred tags whose database is away or frozen when it is
// stopped ends within 20 s all the same, says what it could not give back, and that nothing need be
// done.
func TestServeStopped(t *testing.T) {
	t.Parallel()
	for name, hurt := range map[string]func(*dbtest.Server) error{
		"away":   func(s *dbtest.Server) error { return s.Kill() },
		"frozen": func(s *dbtest.Server) error { return s.Pause() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dbtest.MariaDB(t)
			b := newBench(t)
			db := server.CreateDB(t)
			b.env["UID_DSN"] = server.DSN(db)
			b.check(t, exitOK, "", "", "segment", "init")
			for i := range 100 {
				server.Query(t, db, fmt.Sprintf("INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('tag%d', 1, 1000)", i))
			}
			s := b.serve(t)
			for i := range 100 {
				s.ok(t, fmt.Sprint("/api/segment/get/tag", i))
			}
			if err := hurt(server); err != nil {
				t.Fatal(err)
			}
			begin := time.Now()
			code := s.stop()
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("stopping took %v, want 20 s at the most", took)
			}
			said := s.stderr()
			if code != exitOK || !strings.Contains(said, "uid: stopped, but not everything was given") ||
				!strings.Contains(said, "nothing need be done") || strings.Contains(said, "deadline") {
				t.Errorf("status %d, stderr %s, want 0 and a complaint", code, said)
			}
		})
	}
}

// TestServeDrain: a server that is stopped says on /health that it is down, and serves on, until
// the drain is over.
func TestServeDrain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s := b.serve(t, "--only", "snowflake", "--drain", "2s")
	s.ok(t, "/health")
	begin := time.Now()
	ended := make(chan int, 1)
	go func() { ended <- s.stop() }()
	status := http.StatusOK
	for status == http.StatusOK && time.Since(begin) < time.Second {
		status, _ = s.get(t, "/health")
	}
	if status != http.StatusServiceUnavailable {
		t.Errorf("health is %d after the signal, want 503", status)
	}
	s.ok(t, "/api/snowflake/get/any")
	if code, took := <-ended, time.Since(begin); code != exitOK || took < 2*time.Second {
		t.Errorf("status %d after %v, want 0 after 2 s", code, took)
	}
}

// TestServeTickets: ticket servers are asked for the tags that the command line names, and no
// other.
func TestServeTickets(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve(t, "--only", "segment", "--source", "ticket", "--tag", "order", "--tag", "user")
	s.ok(t, "/api/segment/get/order")
	s.ok(t, "/api/segment/get/user")
	if status, body := s.get(t, "/api/segment/get/nobody"); status != http.StatusNotFound {
		t.Errorf("a tag that is not listed is %d %s, want 404", status, body)
	}
}

// TestServeToken: with a token nothing but /health is answered without it, and an address that is
// not loopback is served with a token, or when told to.
func TestServeToken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		b.check(t, exitUsage, "", "is not loopback", "serve", "--addr", addr)
	}
	newBench(t).serve(t, "--only", "snowflake", "--open")
	b.env["UID_TOKEN"] = "s3cret"
	s := b.serve(t, "--only", "snowflake")
	s.ok(t, "/health")
	for _, path := range []string{"/", "/api/snowflake/get/a", "/api/snowflake/get/a?count=2", "/metrics", "/debug/uid", "//health"} {
		for _, header := range []string{"", "s3cret", "Bearer", "Bearer s3cre", "Bearer s3cret2", "Basic s3cret"} {
			if status := authorized(t, s, path, header); status != http.StatusUnauthorized {
				t.Errorf("%s with %q is %d, want 401", path, header, status)
			}
		}
	}
	for _, path := range []string{"/", "/api/snowflake/get/a", "/metrics"} {
		if status := authorized(t, s, path, "Bearer s3cret"); status != http.StatusOK {
			t.Errorf("%s with the token is %d, want 200", path, status)
		}
	}
	if strings.Contains(s.stderr(), "s3cret") {
		t.Errorf("stderr shows the token: %s", s.stderr())
	}
}

// authorized returns the status of a request with a header Authorization.
func authorized(t *testing.T, s *served, path, header string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", header)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// TestServeErrors: an address that cannot be had, and a worker id that cannot, end the server at
// once.
func TestServeErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitFailure, "", "--addr", "serve", "--addr", silentServer(t))
	for _, addr := range []string{"nonsense", "::1", "::1:8080", "unix:/run/uid.sock", "/run/uid.sock", "8080", "http://127.0.0.1:8080", "127.0.0.1:"} {
		b.check(t, exitUsage, "", "want HOST:PORT", "serve", "--addr", addr)
	}
	for _, addr := range []string{"127.0.0.1:99999", "127.0.0.1:nothing", "192.0.2.1:8080"} {
		b.check(t, exitFailure, "", "--addr: ", "serve", "--addr", addr)
	}
	b.check(t, exitUsage, "", "--epoch", "serve", "--epoch", "nonsense")
	b.check(t, exitUsage, "", "begins at 2200-01-01", "serve", "--epoch", "2200-01-01")
	b.check(t, exitFailure, "", "ran out at", "serve", "--layout", "baidu")
	b.check(t, exitFailure, "", "ran out at", "serve", "--epoch", "1900-01-01")
	b.check(t, exitOK, "Leaf's layout, 41-10-12", "", "serve", "--help")
	b.check(t, exitUsage, "", "keyworker makes them", "serve", "--layout", "keyworker-original")
	b.check(t, exitUsage, "", "--only", "serve", "--only", "nothing")
	b.check(t, exitUsage, "", "--source ticket needs --tag", "serve", "--source", "ticket")
	b.check(t, exitUsage, "", "--tag is for --source ticket", "serve", "--tag", "order")
	b.check(t, exitUsage, "", "--drain is -1s", "serve", "--drain", "-1s")
	b.check(t, exitFailure, "", "connection refused", "serve", "--addr", "127.0.0.1:0", "--dsn", "mysql://127.0.0.1:1/ids")
}

// TestListenNetwork: an IPv4 address is listened on as such, even the one that means all of them.
func TestListenNetwork(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{"127.0.0.1:0": "tcp4", "0.0.0.0:80": "tcp4", "[::1]:80": "tcp", "[::]:80": "tcp", ":80": "tcp", "localhost:http": "tcp"} {
		if got, err := listenNetwork(addr); got != want || err != nil {
			t.Errorf("listenNetwork(%q) = %q, %v, want %q", addr, got, err, want)
		}
	}
}

// pipes is a listener whose connections are in memory, so that their time is the test's.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestServeSlow: a client that takes its time over the header, the body or the answer is left alone
// for so long and then cut off; a server that is stopped waits for requests under way, and not
// for ever.
func TestServeSlow(t *testing.T) {
	t.Parallel()
	const post = "POST /decode HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 1000\r\n\r\nsnow"
	for _, c := range []struct {
		name, sends string
		stop        time.Duration // when the server is stopped
		want        time.Duration // when the connection ends
		shutdown    time.Duration // how long stopping takes
	}{
		{"silence", "", time.Minute, requestTime, 0},
		{"header", "GET / HTTP/1.1\r\nHost: a\r\n", time.Minute, requestTime, 0},
		{"body", post, time.Minute, requestTime, 0},
		{"unread body", strings.Replace(post, "/decode", "/", 1), time.Minute, requestTime, 0},
		{"idle", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", time.Hour, idleTime, 0},
		{"answer", "GET /long HTTP/1.1\r\nHost: a\r\n\r\n", time.Minute, answerTime, 0},
		{"stopped", "GET /hang HTTP/1.1\r\nHost: a\r\n\r\n", time.Second, time.Second + shutdownTime, shutdownTime},
		{"stopped in time", "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n", time.Second, 3 * time.Second, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				mux := http.NewServeMux()
				mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
				mux.HandleFunc("/decode", func(_ http.ResponseWriter, r *http.Request) { _ = r.FormValue("snowflakeId") })
				wrote := make(chan time.Duration, 1) // until the answer was given up
				mux.HandleFunc("/long", func(w http.ResponseWriter, _ *http.Request) {
					if _, err := w.Write(make([]byte, 1<<20)); err != nil {
						wrote <- time.Since(begin)
					}
				})
				mux.HandleFunc("/hang", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
				mux.HandleFunc("/wait", func(http.ResponseWriter, *http.Request) { time.Sleep(3 * time.Second) })
				l := &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				go func() { ended <- serve(ctx, l, mux, slog.New(slog.DiscardHandler), 0) }()
				here, there := net.Pipe()
				l.conns <- there
				gone := make(chan time.Duration)
				go func() {
					_, _ = io.WriteString(here, c.sends) // fails where the server has enough
					if c.name == "answer" {
						time.Sleep(30 * time.Second) // and reads nothing
					}
					_, _ = io.Copy(io.Discard, here)
					gone <- time.Since(begin)
				}()
				go func() {
					time.Sleep(c.stop)
					cancel()
				}()
				took := <-gone
				if c.name == "answer" {
					took = <-wrote
				}
				if took != c.want {
					t.Errorf("the connection lasts %v, want %v", took, c.want)
				}
				if err := <-ended; err != nil {
					t.Errorf("serve = %v", err)
				}
				// Shutdown looks for connections that have become idle every half second or more
				// often.
				if took := time.Since(begin) - c.stop; took < c.shutdown || took > c.shutdown+time.Second {
					t.Errorf("stopping takes %v, want %v", took, c.shutdown)
				}
			})
		})
	}
}
