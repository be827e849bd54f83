package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
	"github.com/uidring/uidring/uid"
)

// TestServe: the server prints its address, hands out ids on Leaf's routes, and gives everything back
// when it is stopped.
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
			t.Fatalf("%d after %d, %v, want ids of one server to increase", id, last, err)
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
	status, _ := s.get(t, "/api/segment/get/"+strings.Repeat("x", 64<<10))
	if status != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a key of 64 KiB = %d, want 431", status)
	}
	if code := s.stop(); code != exitOK {
		t.Errorf("status %d after SIGTERM, want 0: being stopped is how a server ends", code)
	}
	b.check(t, exitOK, "\"next\":\"4\"", "", "segment", "list", "--json")
}

// TestServeLayout: the server makes and decodes ids in the layout that the flags name, by default in
// Leaf's.
func TestServeLayout(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for layout, args := range map[string][]string{
		"leaf":                              nil,
		"default":                           {"--layout", "default"},
		"40-10-13/1ms@2026-01-01T00:00:00Z": {"--layout", "40-10-13", "--tick", "1ms"},
	} {
		s := b.serve(t, append([]string{"--only", "snowflake", "--namespace", layout}, args...)...)
		id := s.ok(t, "/api/snowflake/get/x")
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		alloc := mustLayout(t, layout).alloc
		tick, worker, seq, _ := alloc.Split(n)
		want := fmt.Sprintf(`{"sequenceId":"%d","timestamp":"%d(`, seq, alloc.TimeAt(tick).UnixMilli())
		got := s.ok(t, "/decodeSnowflakeId?snowflakeId="+id)
		if !strings.HasPrefix(got, want) || !strings.Contains(got, fmt.Sprintf(`"workerId":"%d"`, worker)) {
			t.Errorf("%s: %s is %s, want %s and worker id %d", layout, id, got, want, worker)
		}
		if age := time.Since(alloc.TimeAt(tick)); age < -time.Minute || age > time.Minute {
			t.Errorf("%s: the time in %s is %v ago, want less than a minute", layout, id, age)
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
	server.Exec(t, "CREATE DATABASE "+word, "CREATE USER a_"+word+" IDENTIFIED BY '"+word+"'",
		"GRANT ALL ON "+word+".* TO a_"+word)
	b.env["UID_DSN"] = fmt.Sprintf("mysql://a_%s:%s@%s/%s", word, word, server.Addr(), word)
	b.check(t, exitOK, "", "", "segment", "init")
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "1")
	s := b.serve(t, "--only", "segment")
	s.ok(t, "/api/segment/get/order")
	server.Exec(t, "DROP TABLE "+word+".leaf_alloc")
	for status := http.StatusOK; status == http.StatusOK; { // until the ranges fetched are used up
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

// TestServeDrain: after a signal the server reports down on /health, and goes on serving until the
// drain is over.
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

// TestServeTickets: the server asks ticket servers only for the tags that the command line names.
func TestServeTickets(t *testing.T) {
	t.Parallel()
	s := newBench(t).serve(t, "--only", "segment", "--source", "ticket", "--tag", "order", "--tag", "user")
	s.ok(t, "/api/segment/get/order")
	s.ok(t, "/api/segment/get/user")
	if status, body := s.get(t, "/api/segment/get/nobody"); status != http.StatusNotFound {
		t.Errorf("a tag that is not listed is %d %s, want 404", status, body)
	}
}

// TestServeErrors: an address that cannot be listened on, or a worker id that cannot be claimed, ends
// the server at once.
func TestServeErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitFailure, "", "--addr", "serve", "--addr", silentServer(t))
	for _, addr := range []string{
		"nonsense", "::1", "::1:8080", "unix:/run/uid.sock", "/run/uid.sock", "8080", "http://127.0.0.1:8080",
		"127.0.0.1:",
	} {
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
	b.check(t, exitFailure, "", "connection refused",
		"serve", "--addr", "127.0.0.1:0", "--dsn", "mysql://127.0.0.1:1/ids")
}

// TestListenNetwork: the network of an IPv4 address is tcp4, even for the unspecified address.
func TestListenNetwork(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:0": "tcp4", "0.0.0.0:80": "tcp4",
		"[::1]:80": "tcp", "[::]:80": "tcp", ":80": "tcp", "localhost:http": "tcp",
	} {
		if got, err := listenNetwork(addr); got != want || err != nil {
			t.Errorf("listenNetwork(%q) = %q, %v, want %q", addr, got, err, want)
		}
	}
}
