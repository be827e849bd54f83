package zookeeper

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// session is the connection to ZooKeeper. The client library behind it reconnects and, when its session has expired,
// begins a new one by itself; it runs goroutines until close. Its methods are safe for concurrent use.
//
// The library knows no ctx: each call runs in a goroutine of its own, which ends when the library answers, at the latest
// when the connection breaks or close is called. A call whose ctx ended may still be carried out afterwards.
type session struct {
	zk     *zk.Conn
	events <-chan zk.Event // closed by the library when its last goroutine ends
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	ctx    context.Context //nolint:containedctx // no call's: it ends with close and bounds dialling, which the library does by itself
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	conn   net.Conn // the latest connection
	closed bool
}

// closeGrace bounds how long close waits for ZooKeeper to confirm the end of the session.
const closeGrace = time.Second

func newSession(servers []string, o *Options) (*session, error) {
	s := &session{dial: o.Dial}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var err error
	s.zk, s.events, err = zk.Connect(servers, o.SessionTimeout,
		zk.WithDialer(s.connect),
		zk.WithHostProvider(new(hosts)),
		zk.WithLogger(clientLog{o.Logger}),
		zk.WithLogInfo(false))
	if err != nil {
		s.cancel()
		return nil, fmt.Errorf("assigner/zookeeper: connecting: %w", err)
	}
	return s, nil
}

// connect dials for the library and remembers the connection, so that close can break it.
func (s *session) connect(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(s.ctx, timeout)
	defer cancel()
	conn, err := s.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && s.ctx.Err() != nil {
		conn.Close()
		return nil, ErrClosed
	}
	s.conn = conn
	return conn, nil
}

// close ends the session, so that its ephemeral nodes vanish at once, and waits for all goroutines. Closing twice does
// nothing more. It takes as long as ZooKeeper needs to answer, at most about closeGrace.
func (s *session) close() {
	s.mu.Lock()
	again := s.closed
	s.closed = true
	s.mu.Unlock()
	if !again {
		done := make(chan struct{})
		go func() { // ends when the library does, which is waited for below
			defer close(done)
			s.zk.Close()
		}()
		select {
		case <-done:
		case <-time.After(closeGrace):
		}
		s.cancel()
		s.mu.Lock()
		if s.conn != nil {
			s.conn.Close()
		}
		s.mu.Unlock()
		<-done
	}
	for range s.events { // drained and closed
	}
	s.wg.Wait()
}

// call runs f, which is one or more calls of the library, and waits until it returns or ctx ends. An error that says
// nothing about whether f took effect wraps ErrUnavailable; others are ZooKeeper's answer.
func call[T any](ctx context.Context, s *session, f func(*zk.Conn) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	done := make(chan result, 1) // holds the result that nobody waits for any more
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return none, ErrClosed
	}
	s.wg.Go(func() {
		v, err := f(s.zk)
		done <- result{v, err}
	})
	s.mu.Unlock()
	select {
	case r := <-done:
		return r.value, s.explain(r.err)
	case <-ctx.Done():
		return none, fmt.Errorf("%w: %w", ErrUnavailable, ctx.Err())
	}
}

// answers are ZooKeeper's own decisions: the request arrived and was carried out or refused.
var answers = []error{zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth, zk.ErrAuthFailed,
	zk.ErrInvalidACL, zk.ErrInvalidPath, zk.ErrBadArguments, zk.ErrNoChildrenForEphemerals}

// explain sorts the library's errors: everything that is not known to be an answer leaves the outcome open.
func (s *session) explain(err error) error {
	if err == nil {
		return nil
	}
	for _, a := range answers {
		if errors.Is(err, a) {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// clientLog passes the library's messages on, as details that nobody needs unless something is wrong.
type clientLog struct{ l *slog.Logger }

func (c clientLog) Printf(format string, args ...any) {
	c.l.Debug("zookeeper client", "message", fmt.Sprintf(format, args...))
}

// hosts walks round the servers. Unlike the library's own provider it leaves names to the dialer, which looks them up at each
// attempt: creating it does no I/O, and a server that moved to another address is found again.
type hosts struct {
	mu      sync.Mutex
	servers []string
	tried   int // since the last connection
	next    int
}

func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

func (h *hosts) Len() int { return len(h.servers) }

// Next returns the next server, and whether all of them were tried without success, which makes the library pause and
// fail the requests that wait.
func (h *hosts) Next() (server string, retryStart bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	h.tried++
	if h.tried > len(h.servers) {
		h.tried, retryStart = 1, true
	}
	return server, retryStart
}

func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tried = 0
}
