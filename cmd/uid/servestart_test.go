package main

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestServeOneTicketServer: either of two ticket servers may be down at the start.
func TestServeOneTicketServer(t *testing.T) {
	t.Parallel()
	var up [2]*dbtest.Server
	var names [2]string
	for i := range up {
		up[i] = dbtest.MariaDB(t, "--auto-increment-increment=2", fmt.Sprint("--auto-increment-offset=", i+1))
		names[i] = up[i].DSN(up[i].CreateDB(t))
	}
	for i, s := range up {
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		b := newBench(t)
		args := []string{"--source", "ticket", "--only", "segment", "--tag", "a",
			"--dsn", names[0], "--server", names[1]}
		server := b.serve(t, args...)
		if id := server.ok(t, "/api/segment/get/a"); id != fmt.Sprint(2-i) {
			t.Errorf("the id of server %d is %s, want its first, %d", 1-i, id, 2-i)
		}
		server.stop()
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestServeSupervisor: systemd is told when the server is ready, that it answers, and when it stops.
func TestServeSupervisor(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Skip("skipped: no datagram sockets: ", err)
	}
	defer l.Close()
	b := newBench(t)
	b.env["NOTIFY_SOCKET"], b.env["WATCHDOG_USEC"] = socket, "200000"
	s := b.serve(t)
	var got []string
	read := func() string {
		buf := make([]byte, 100)
		if err := l.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := l.Read(buf)
		if err != nil {
			t.Fatalf("after %q: %v", got, err)
		}
		got = append(got, string(buf[:n]))
		return string(buf[:n])
	}
	if first := read(); first != "READY=1" {
		t.Errorf("the first message is %q, want READY=1", first)
	}
	for range 2 {
		if next := read(); next != "WATCHDOG=1" {
			t.Errorf("then comes %q, want WATCHDOG=1", next)
		}
	}
	go s.stop()
	for !slices.Contains(got, "STOPPING=1") {
		read()
	}
	s.stop()
}

// TestSeveralErrors: several errors in one message have separators and keep their reasons.
func TestSeveralErrors(t *testing.T) {
	t.Parallel()
	p := &program{redactor: dsn.Redactor{}}
	err := errors.Join(errors.New(`tag "a": context deadline exceeded`), errors.New("hosts:\n\tone\n\ttwo"))
	const want = `tag "a": no answer in time; hosts: one; two`
	if got := p.text(err); got != want {
		t.Errorf("the text is %s, want %s", got, want)
	}
}

// TestServeRoutesAway: a database of the list may be down at the start. Its tags alone are unavailable, and
// come with it. Its table is made then. The table of one that answers has to be fit, and one that refuses is not
// away.
func TestServeRoutesAway(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	b, other := newBench(t), s.DSN(s.CreateDB(t))
	b.env["UID_DSN"] = servers.Postgres(t).DSN(servers.Postgres(t).CreateDB(t))
	b.check(t, exitOK, "", "", "segment", "init")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "5")
	b.check(t, exitOK, "", "", "segment", "init", "--dsn", other)
	b.check(t, exitOK, "", "", "segment", "set", "user", "--step", "5", "--next", "1000", "--dsn", other)
	bare := s.DSN(s.CreateDB(t))
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	list := listOf(t, "user "+other, "new "+bare)
	server := b.serve(t, "--routes", list, "--only", "segment")
	if got := server.ok(t, "/api/segment/get/order"); got != "1" {
		t.Errorf("the id is %s, want 1", got)
	}
	if status, body := server.get(t, "/api/segment/get/user"); status != 503 {
		t.Errorf("a tag whose database is away: %d %s, want 503", status, body)
	}
	if !strings.Contains(server.stderr(), "does not answer") {
		t.Errorf("the log does not say that a database is away:\n%s", server.stderr())
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		status, body := server.get(t, "/api/segment/get/user")
		if status == 200 && body == "1000" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the tag's database is back: %d %s, want 1000", status, body)
		}
	}
	if status, body := server.get(t, "/api/segment/get/new"); status != 404 {
		t.Errorf("a tag whose database had no table: %d %s, want 404", status, body)
	}
	b.check(t, exitOK, "", "", "segment", "set", "new", "--step", "5", "--dsn", bare)
	b.check(t, exitFailure, "", "Unknown database 'absent'", "serve", "--routes", listOf(t, "user "+s.DSN("absent")),
		"--only", "segment", "--addr", "127.0.0.1:0")
	query(t, other, "ALTER TABLE leaf_alloc MODIFY max_id INT NOT NULL")
	b.check(t, exitFailure, "", "max_id", "serve", "--routes", list, "--only", "segment", "--addr", "127.0.0.1:0")
}

// TestServeRoutesSilent: a database of the list that accepts connections and keeps silent is away, too.
func TestServeRoutesSilent(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "", "", "segment", "init")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "5")
	server := b.serve(t, "--routes", listOf(t, "user mysql://me@"+silentServer(t)+"/ids"), "--only", "segment",
		"--wait", "5s")
	if got := server.ok(t, "/api/segment/get/order"); got != "1" {
		t.Errorf("the id is %s, want 1", got)
	}
}
