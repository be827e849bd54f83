package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are in memory, so that they work in a synctest bubble.
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

// TestServeSlow: the server cuts off a client that is too slow with the header, the body or the
// answer. When it is stopped, it waits for requests under way, but not for ever.
func TestServeSlow(t *testing.T) {
	t.Parallel()
	const post = "POST /decode HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n" +
		"Content-Length: 1000\r\n\r\nsnow"
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
		{"stopped", "GET /hang HTTP/1.1\r\nHost: a\r\n\r\n", time.Second, time.Second + graceTime, graceTime},
		{"stopped in time", "GET /wait HTTP/1.1\r\nHost: a\r\n\r\n", time.Second, 3 * time.Second, 2 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				mux := http.NewServeMux()
				mux.HandleFunc("/", func(http.ResponseWriter, *http.Request) {})
				mux.HandleFunc("/decode", func(_ http.ResponseWriter, r *http.Request) {
					_ = r.FormValue("snowflakeId")
				})
				wrote := make(chan time.Duration, 1) // the time until the server gave up the answer
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
				stopping := func() (context.Context, context.CancelFunc) {
					return context.WithTimeout(t.Context(), stopTime)
				}
				go func() { ended <- serve(ctx, l, mux, slog.New(slog.DiscardHandler), 0, stopping) }()
				here, there := net.Pipe()
				l.conns <- there
				gone := make(chan time.Duration)
				go func() {
					_, _ = io.WriteString(here, c.sends) // fails once the server has cut the client off
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
				// Shutdown looks for idle connections at least every half second.
				if took := time.Since(begin) - c.stop; took < c.shutdown || took > c.shutdown+time.Second {
					t.Errorf("stopping takes %v, want %v", took, c.shutdown)
				}
			})
		})
	}
}
