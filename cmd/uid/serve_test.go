package main

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/uidring/uidring/uid"
)

// TestServe: the server tells its address, hands out ids on Leaf's routes, and gives everything back when it is stopped.
func TestServe(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, "", "", "segment", "set", "order", "--step", "1000")
	ctx, cancel := context.WithCancelCause(t.Context())
	stderr, w := io.Pipe()
	p := &program{stdin: strings.NewReader(""), stdout: io.Discard, stderr: w, getenv: func(string) string { return "" },
		cacheDir: func() (string, error) { return b.cache, nil }, now: b.clock}
	ended := make(chan int)
	go func() {
		ended <- p.run(ctx, []string{"serve", "--addr", "127.0.0.1:0"})
		w.Close()
	}()
	buf := make([]byte, 4096)
	n, err := stderr.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(io.Discard, stderr) // ends with w
	base := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(string(buf[:n]))
	if base == "" {
		t.Fatalf("says %q, want an address", buf[:n])
	}
	get := func(path string) string {
		t.Helper()
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v: %s", path, resp.Status, err, body)
		}
		return string(body)
	}
	for i, want := range []string{"1", "2", "3"} {
		if got := get("/api/segment/get/order"); got != want {
			t.Errorf("segment id %d is %s, want %s", i, got, want)
		}
	}
	var ids []uid.ID
	for range 100 {
		id, err := uid.ParseID(get("/api/snowflake/get/x"))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	unique(t, ids)
	if got := get("/health"); !strings.Contains(got, `"up"`) {
		t.Errorf("health is %s, want up", got)
	}
	cancel(signalError{syscall.SIGTERM})
	if code := <-ended; code != exitOK {
		t.Errorf("status %d after SIGTERM, want 0: being stopped is how a server ends", code)
	}
	b.check(t, exitOK, "\"next\":\"4\"", "", "segment", "list", "--json")
}

// TestServeErrors: an address that cannot be had, and a worker id that cannot, end the server at once.
func TestServeErrors(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitFailure, "", "--addr", "serve", "--addr", silentServer(t))
	b.check(t, exitFailure, "", "--addr", "serve", "--addr", "nonsense")
	b.check(t, exitUsage, "", "--epoch", "serve", "--epoch", "nonsense")
	b.check(t, exitUsage, "", "--only", "serve", "--only", "nothing")
	b.check(t, exitFailure, "", "connection refused", "serve", "--addr", "127.0.0.1:0", "--dsn", "mysql://127.0.0.1:1/ids")
}
