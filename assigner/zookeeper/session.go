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

	"github.com/uidring/uidring/assigner/lease"
)

// errClosed says that the Assigner was closed.
var errClosed = errors.New("zookeeper: closed")

// sessionTimeout has a connection without answers given up after 4 s, two thirds of it, which is
// sooner than package lease gives a request up. Nothing ends with a session.
const sessionTimeout = 6 * time.Second

// session is the connection to ZooKeeper. It makes a new link where an old one is of no more use.
// Its methods are safe for concurrent use.
//
// The client library knows no ctx: each call runs in a goroutine of its own, which ends when the
// library answers, at the latest when the connection breaks or close is called. A call whose ctx
// ended may still be carried out afterwards.
type session struct {
	servers []string
	digest  string // user:password; empty: none
	dial    func(ctx context.Context, network, address string) (net.Conn, error)
	log     *slog.Logger
	timeout time.Duration // after which ZooKeeper forgets a session that is silent
	wg      sync.WaitGroup

	mu     sync.Mutex
	link   *link
	closed bool
}

// current returns the link for a call, a new one if the old one is of no more use.
func (s *session) current() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, refuseClosed()
	}
	if s.link.refused(2*len(s.servers), s.timeout) {
		fresh, err := s.connect()
		if err != nil {
			return nil, err
		}
		s.log.Warn("zookeeper ends every connection without a session, beginning " +
			"another session")
		old := s.link
		s.link = fresh
		s.wg.Go(old.close)
	}
	s.wg.Add(1) // for the call, while close has not begun to wait
	return s.link, nil
}

// close ends the session and waits for all goroutines. Closing twice does nothing more. It takes as
// long as ZooKeeper needs to answer, at most about a second.
func (s *session) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.link.close() // nothing replaces it any more
	s.wg.Wait()
}

// call runs f, which is one or more calls of the library, and waits until it returns or ctx ends.
// After an error that is not ZooKeeper's answer f may have taken effect, or may yet.
func call[T any](ctx context.Context, s *session, f func(*zk.Conn) (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	l, err := s.current()
	if err != nil {
		return none, err
	}
	done := make(chan result, 1) // holds the result that nobody waits for any more
	go func() {                  // current has counted it for close
		defer s.wg.Done()
		var v T
		err := l.authenticate(s.digest)
		if err == nil {
			v, err = f(l.zk)
		}
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, s.explain(r.err)
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// explain marks the errors that another try does not change: they wrap lease.ErrRefused.
func (s *session) explain(err error) error {
	for _, refusal := range []error{zk.ErrNoAuth, zk.ErrAuthFailed, zk.ErrInvalidACL,
		zk.ErrInvalidPath, zk.ErrBadArguments} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w: %w", lease.ErrRefused, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed && err != nil {
		return refuseClosed()
	}
	return err
}

// refuseClosed returns the error of a call after Close.
func refuseClosed() error { return fmt.Errorf("%w: %w", lease.ErrRefused, errClosed) }

// clientLog passes the library's messages on, as details that nobody needs unless something is
// wrong.
type clientLog struct{ l *slog.Logger }

func (c clientLog) Printf(format string, args ...any) {
	c.l.Debug("zookeeper client", "message", fmt.Sprintf(format, args...))
}

// hosts walks round the servers. Unlike the library's own provider it leaves names to the dialer,
// which looks them up at each attempt: creating it does no I/O, and a server that moved to another
// address is found again. One goroutine of the library calls its methods, one after another.
type hosts struct {
	servers []string
	tried   int // since the last connection
	next    int
}

func (h *hosts) Init(servers []string) error {
	h.servers = servers
	return nil
}

func (h *hosts) Len() int { return len(h.servers) }

// Next returns the next server, and whether all of them were tried without success, which makes the
// library pause and fail the requests that wait.
func (h *hosts) Next() (server string, retryStart bool) {
	server = h.servers[h.next]
	h.next = (h.next + 1) % len(h.servers)
	h.tried++
	if h.tried > len(h.servers) {
		h.tried, retryStart = 1, true
	}
	return server, retryStart
}

func (h *hosts) Connected() { h.tried = 0 }
