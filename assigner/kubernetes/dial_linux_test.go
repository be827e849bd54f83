package kubernetes_test

import (
	"context"
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestDialTimeout: a connection to a server that does not answer is given up within seconds, so that
// a try of a request has time for another one.
func TestDialTimeout(t *testing.T) {
	t.Parallel()
	addr := deaf(t)
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	c := inCluster(t, addr, secret, otherAuthority(t))
	conn, err := c.Transport().DialContext(ctx, "tcp", addr)
	if err == nil {
		conn.Close()
	}
	var slow net.Error
	if !errors.As(err, &slow) || !slow.Timeout() || ctx.Err() != nil {
		t.Errorf("after %v: %v, want a timeout after 3s", time.Since(begin), err)
	}
}

// deaf returns an address that answers to no new connection, because as many wait as may.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	sa, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(sa.(*syscall.SockaddrInet4).Port))
	for range 10 {
		conn, err := net.DialTimeout("tcp", addr, 300*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Skip("skipped: connections are made without an accept")
	return ""
}
