package zookeeper

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/lease"
)

// newSession returns a session with some servers, which dial stands for. It connects in the background.
func newSession(t *testing.T, servers string, dial func(ctx context.Context) (net.Conn, error)) *session {
	t.Helper()
	s := &session{servers: strings.Split(servers, ","), log: slog.New(slog.DiscardHandler), timeout: sessionTimeout,
		dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }}
	var err error
	if s.link, err = s.connect(); err != nil {
		t.Fatal(err)
	}
	return s
}

// refuse stands for a server that is away, silent for one that never says a word.
func refuse(context.Context) (net.Conn, error) { return nil, errors.New("refused") }
func silent(context.Context) (net.Conn, error) { c, _ := net.Pipe(); return c, nil }

// TestNote: connections count in a row that were made and ended without a session. A session is the end of
// the row, one that has expired too.
func TestNote(t *testing.T) {
	t.Parallel()
	states := map[byte]zk.Event{
		'c': {Type: zk.EventSession, State: zk.StateConnecting}, 'C': {Type: zk.EventSession, State: zk.StateConnected},
		'S': {Type: zk.EventSession, State: zk.StateHasSession}, 'X': {Type: zk.EventSession, State: zk.StateExpired},
		'D': {Type: zk.EventSession, State: zk.StateDisconnected},
		'n': {Type: zk.EventNotWatching, State: zk.StateDisconnected}, // of a watch
	}
	for events, want := range map[string]int{"": 0, "cD": 0, "cC": 0, "Cc": 0, "Cn": 0, "cCD": 1, "CDD": 1, "cCDcCD": 2,
		"CSD": 0, "CXD": 0, "CDCS": 0, "CDCX": 0, "CDCSD": 0, "CDCSDCD": 1, "CDCDcc": 2} {
		l := new(link)
		for _, e := range []byte(events) {
			l.note(states[e])
		}
		if l.failed != want {
			t.Errorf("after the events %q %d connections failed in a row, want %d", events, l.failed, want)
		}
	}
}

// TestCurrent: another link takes over when two connections to each server ended in a row without a session,
// the first of them longer ago than a session lives. The log says so, and the old link is closed.
func TestCurrent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		s := newSession(t, "a,b,c", refuse)
		s.log = slog.New(slog.NewTextHandler(&log, nil))
		old := s.link
		same := func(want bool) {
			t.Helper()
			l, err := s.current()
			if err != nil {
				t.Fatal(err)
			}
			s.wg.Done()
			if l != s.link || (l == old) != want {
				t.Errorf("after %d failures and %v the link is the same: %v, want %v", l.failed, time.Since(l.since),
					l == old, want)
			}
		}
		for range 6 {
			same(true)
			old.note(zk.Event{Type: zk.EventSession, State: zk.StateConnected})
			old.note(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
			if old.failed == 1 {
				time.Sleep(s.timeout)
			}
		}
		same(true)
		if log.Len() > 0 {
			t.Errorf("logged %q, want nothing yet", log.String())
		}
		old.failed = 5
		time.Sleep(time.Millisecond)
		same(true)
		old.failed = 6
		servers := s.servers
		s.servers = nil
		if l, err := s.current(); err == nil || s.link != old {
			t.Errorf("a link without servers: %v, %v, want an error and the old link", l, err)
		}
		s.servers = servers
		same(false)
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), "another session") {
			t.Errorf("logged %q, want a warning", log.String())
		}
		time.Sleep(2 * time.Second)
		if synctest.Wait(); !old.closed || s.link.closed {
			t.Errorf("the old link is closed: %v, the new one: %v", old.closed, s.link.closed)
		}
		s.close()
	})
}

// TestCloseTime: Close takes a second at most where no server is to be reached, one never says a word, or
// dialling hangs. A dialer that does not heed its ctx is waited for, and its connection is closed. A
// request that waits then ends as well, and one that comes during Close is refused at once.
func TestCloseTime(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		dial func(ctx context.Context) (net.Conn, error)
		want time.Duration
	}{
		{"refused", refuse, time.Second},
		{"silent", silent, time.Second},
		{"hanging", func(ctx context.Context) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }, time.Second},
		{"late", func(context.Context) (net.Conn, error) {
			time.Sleep(3 * time.Second)
			c, server := net.Pipe()
			go func() { // ends with c
				if _, err := server.Read(make([]byte, 1)); err != io.EOF {
					t.Errorf("a connection that is late: %v, want it closed", err)
				}
			}()
			return c, nil
		}, 3 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			servers := "a,b,c,d,e"
			if tt.name == "late" {
				servers = "a"
			}
			s := newSession(t, servers, tt.dial)
			l, err := s.current()
			if err != nil {
				t.Fatal(err)
			}
			waiting := make(chan error, 1)
			go func() {
				defer s.wg.Done()
				_, _, err := l.zk.Exists("/x")
				waiting <- err
			}()
			synctest.Wait()
			begin := time.Now()
			closed := make(chan struct{})
			go func() { s.close(); close(closed) }()
			if time.Sleep(500 * time.Millisecond); !s.mu.TryLock() {
				t.Errorf("%s: a call would have to wait for Close", tt.name)
			} else {
				s.mu.Unlock()
			}
			<-closed
			if took := time.Since(begin); took > tt.want {
				t.Errorf("%s: Close took %v, want %v", tt.name, took, tt.want)
			}
			if err := <-waiting; err == nil {
				t.Errorf("%s: a request succeeded without a server", tt.name)
			}
			if l, err := s.current(); !errors.Is(err, errClosed) || !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%s: a link after Close: %v, %v, want a refusal", tt.name, l, err)
			}
		})
	}
}

// TestCloseWaits: Close waits for a call whose ctx has ended and that still runs.
func TestCloseWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, "a", refuse)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		end := make(chan struct{})
		_, err := call(ctx, s, func(*zk.Conn) (bool, error) { <-end; return true, nil })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that takes too long: %v, want ctx's error", err)
		}
		var closed atomic.Bool
		go func() { s.close(); closed.Store(true) }()
		time.Sleep(time.Hour)
		if closed.Load() {
			t.Error("Close did not wait for the call")
		}
		close(end)
		if synctest.Wait(); !closed.Load() {
			t.Error("Close waits after the call's end")
		}
	})
}

// TestCallNothing: a call makes no request when its ctx has ended, before the library has the digest, and
// after Close.
func TestCallNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSession(t, "a", refuse)
		f := func(*zk.Conn) (bool, error) { t.Error("the call was made"); return true, nil }
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := call(ended, s, f); !errors.Is(err, context.Canceled) {
			t.Errorf("a call whose ctx has ended: %v, want ctx's error", err)
		}
		synctest.Wait()
		s.digest = "user:password"
		if _, err := call(t.Context(), s, f); !errors.Is(err, zk.ErrNoServer) || s.link.authed.Load() {
			t.Errorf("a call whose digest did not arrive: %v, want zk.ErrNoServer", err)
		}
		s.close()
		s.digest = ""
		if _, err := call(t.Context(), s, f); !errors.Is(err, errClosed) {
			t.Errorf("a call after Close: %v, want a refusal", err)
		}
	})
}

// TestAuthenticate: without a digest, or if the library has it, there is nothing to tell it.
func TestAuthenticate(t *testing.T) {
	t.Parallel()
	var l link // without a client
	if err := l.authenticate(""); err != nil {
		t.Error(err)
	}
	l.authed.Store(true)
	if err := l.authenticate("user:password"); err != nil {
		t.Error(err)
	}
}

// TestExplain: what another try does not change is a refusal: missing rights, and a session that was closed.
// No error stays none.
func TestExplain(t *testing.T) {
	t.Parallel()
	var s session
	for err, want := range map[error]bool{zk.ErrNoAuth: true, zk.ErrAuthFailed: true, zk.ErrInvalidACL: true,
		zk.ErrInvalidPath: true, zk.ErrBadArguments: true, zk.ErrConnectionClosed: false, zk.ErrNoNode: false} {
		got := s.explain(err)
		if !errors.Is(got, err) || errors.Is(got, lease.ErrRefused) != want {
			t.Errorf("explain(%v) = %v, want ErrRefused: %v", err, got, want)
		}
	}
	if err := s.explain(nil); err != nil {
		t.Errorf("explain(nil) = %v", err)
	}
	s.closed = true
	if err := s.explain(zk.ErrConnectionClosed); !errors.Is(err, errClosed) || !errors.Is(err, lease.ErrRefused) {
		t.Errorf("an error after close: %v, want a refusal", err)
	}
	if err := s.explain(nil); err != nil {
		t.Errorf("explain(nil) after close = %v", err)
	}
}

// TestLog: the Logger gets the client's complaints as details, and nothing about what goes well. The place of
// an Assigner is its servers and the namespace.
func TestLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		a, err := Open([]string{"a"}, &Options{Lease: lease.Options{Logger: logger},
			Dial: func(context.Context, string, string) (net.Conn, error) {
				c, server := net.Pipe()
				return c, server.Close()
			}})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		a.Close()
		if got, want := a.String(), "ZooKeeper at a under /uidring"; got != want {
			t.Errorf("the place is %q, want %q", got, want)
		}
		if got := log.String(); !strings.Contains(got, `level=DEBUG msg="zookeeper client" message="authentication`) ||
			strings.Contains(got, "connected to") {
			t.Errorf("logged %q, want the failed attempt only", got)
		}
	})
}

// TestContended: calls, Close and the client's events come at the same time. The race detector watches.
func TestContended(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for range 20 {
		s := newSession(t, "a", refuse)
		for range 2 {
			wg.Go(func() {
				for range 100 {
					s.link.note(zk.Event{Type: zk.EventSession, State: zk.StateConnected})
					s.link.note(zk.Event{Type: zk.EventSession, State: zk.StateDisconnected})
				}
			})
			wg.Go(func() {
				for range 100 {
					s.link.refused(1, 0)
				}
			})
			wg.Go(func() {
				for s.explain(io.EOF) == io.EOF {
				}
			})
			wg.Go(func() {
				for {
					if _, err := s.current(); err != nil {
						return
					}
					s.wg.Done()
				}
			})
		}
		wg.Go(s.close)
	}
	wg.Wait()
}
