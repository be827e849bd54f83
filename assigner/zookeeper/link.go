package zookeeper

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// link is a client of the library. The library reconnects and, when its session has expired, begins
// a new one by itself; it runs goroutines until close.
//
// What it does not come back from is a ZooKeeper that was restored to an older state: it tells
// every server the last transaction that it has seen, and a server that has not seen as many ends
// the connection. A new link has seen none.
type link struct {
	zk     *zk.Conn
	events <-chan zk.Event    // closed by the library when its last goroutine ends
	cancel context.CancelFunc // ends dialling, which the library does by itself
	authed atomic.Bool        // the library has the digest, and repeats it after a reconnect

	mu      sync.Mutex
	conn    net.Conn // the latest connection
	closed  bool
	opening bool      // a connection is there, and no session on it yet
	failed  int       // connections in a row that ended without a session
	since   time.Time // when there was no session for the first time in the row
}

// connect makes a link, which connects in the background.
func (s *session) connect() (*link, error) {
	dialling, cancel := context.WithCancel(context.Background())
	l := &link{cancel: cancel}
	var err error
	l.zk, l.events, err = zk.Connect(s.servers, s.timeout,
		zk.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(dialling, timeout)
			defer cancel()
			conn, err := s.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return l.keep(conn)
		}),
		zk.WithEventCallback(l.note),
		zk.WithHostProvider(new(hosts)),
		zk.WithLogger(clientLog{s.log}),
		zk.WithLogInfo(false))
	if err != nil {
		cancel()
		return nil, fmt.Errorf("zookeeper: connecting: %w", err)
	}
	return l, nil
}

// keep remembers a connection, so that close can break it.
func (l *link) keep(conn net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		conn.Close()
		return nil, errClosed
	}
	l.conn = conn
	return conn, nil
}

// note counts the connections that end without a session. The library calls it with every event.
func (l *link) note(e zk.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case e.Type != zk.EventSession:
	case e.State == zk.StateConnected:
		l.opening = true
	case e.State == zk.StateHasSession || e.State == zk.StateExpired:
		l.opening, l.failed = false, 0
	case e.State == zk.StateDisconnected && l.opening:
		l.opening = false
		if l.failed == 0 {
			l.since = time.Now()
		}
		l.failed++
	}
}

// refused reports whether so many connections in a row ended without a session, and that for so
// long. The session is over then, whatever the reason.
func (l *link) refused(times int, d time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed >= times && time.Since(l.since) > d
}

// authenticate hands the library the digest, if there is one, once.
func (l *link) authenticate(digest string) error {
	if digest == "" || l.authed.Load() {
		return nil
	}
	err := l.zk.AddAuth("digest", []byte(digest))
	if err == nil {
		l.authed.Store(true)
	}
	return err
}

// close ends the session and waits for the library's goroutines. Closing twice does nothing more.
func (l *link) close() {
	l.zk.Close() // waits a second at most for ZooKeeper to confirm it, two if its queue is full
	l.cancel()
	l.mu.Lock()
	l.closed = true
	if l.conn != nil {
		l.conn.Close()
	}
	l.mu.Unlock()
	for range l.events { // drained and closed
	}
}
