package main

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// supervisor is the service manager that started the process, systemd, if NOTIFY_SOCKET names its
// socket. The zero value is none, and is told nothing.
type supervisor struct {
	address  string
	watchdog time.Duration // how long it may not hear of the process; 0: for ever
}

// supervisor reads the environment that systemd sets.
func (p *program) supervisor() supervisor {
	s := supervisor{address: p.getenv("NOTIFY_SOCKET")}
	if strings.HasPrefix(s.address, "@") { // an abstract socket
		s.address = "\x00" + s.address[1:]
	}
	if n, err := strconv.ParseInt(p.getenv("WATCHDOG_USEC"), 10, 64); err == nil && n > 0 {
		s.watchdog = time.Duration(n) * time.Microsecond
	}
	return s
}

// tell sends a state such as READY=1. An error says that nobody listens, and is no error of ours.
func (s supervisor) tell(ctx context.Context, state string) {
	if s.address == "" {
		return
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unixgram", s.address)
	if err != nil {
		return
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(state))
}

// keep tells the watchdog, twice in its interval, that handler answers /health, until ctx ends. Any
// answer will do: a database that is away is no reason for a restart, and a handler that does not
// answer is one.
func (s supervisor) keep(ctx context.Context, handler http.Handler) {
	if s.address == "" || s.watchdog == 0 {
		return
	}
	tick := time.NewTicker(s.watchdog / 2)
	defer tick.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/health", nil)
		if err != nil {
			return
		}
		handler.ServeHTTP(unread{}, r)
		s.tell(ctx, "WATCHDOG=1")
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// unread is an answer that nobody reads.
type unread struct{}

func (unread) Header() http.Header         { return http.Header{} }
func (unread) Write(b []byte) (int, error) { return len(b), nil }
func (unread) WriteHeader(int)             {}
