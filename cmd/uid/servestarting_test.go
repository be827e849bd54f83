package main

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"syscall"
	"testing"
	"time"
)

// TestServeStarting: while the database does not answer, a server that starts refuses each request at once, and
// a SIGHUP does not end it.
func TestServeStarting(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	b := newBench(t)
	ended := make(chan int, 1)
	go func() {
		ended <- b.run(t.Context(), "serve", "--addr", address, "--timeout", "5s",
			"--dsn", "mysql://me@"+silentServer(t)+"/ids").code
	}()
	client := &http.Client{Timeout: time.Second}
	refused := 0
	for refused < 5 {
		for path, want := range map[string]string{"/api/segment/get/a": "unavailable", "/health": "down"} {
			resp, err := client.Get("http://" + address + path)
			if err != nil {
				select {
				case code := <-ended:
					t.Fatalf("serve ended with %d after %d requests: %v", code, refused, err)
				case <-time.After(10 * time.Millisecond): // not listening yet
				}
				continue
			}
			var body struct{ Code, Status string }
			err = json.NewDecoder(resp.Body).Decode(&body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusServiceUnavailable || body.Code+body.Status != want ||
				resp.Header.Get("Retry-After") == "" {
				t.Fatalf("%s while starting: %s %+v, %v, want 503 and %q", path, resp.Status, body, err, want)
			}
			refused++
		}
	}
	if !b.hangups.pass() {
		t.Error("a SIGHUP would end a server that starts")
	}
	if code := <-ended; code != exitFailure {
		t.Errorf("serve ended with %d, want %d", code, exitFailure)
	}
}

// TestServeStoppedWhileStarting: a signal while the database does not answer is how a server ends.
func TestServeStoppedWhileStarting(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	ended := make(chan result, 1)
	go func() {
		ended <- newBench(t).run(ctx, "serve", "--addr", address, "--timeout", "1m",
			"--dsn", "mysql://me@"+silentServer(t)+"/ids")
	}()
	for {
		resp, err := http.Get("http://" + address + "/health")
		if err == nil {
			resp.Body.Close()
			break
		}
		time.Sleep(10 * time.Millisecond) // not listening yet
	}
	stop(signalError{syscall.SIGTERM})
	if r := <-ended; r.code != exitOK || r.stderr != "uid: stopped before it served\n" {
		t.Errorf("serve ended with %d and %q, want 0 and a line", r.code, r.stderr)
	}
}
