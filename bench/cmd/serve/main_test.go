package main

import (
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// slowOnce starts a server whose first answer takes 100 ms.
func slowOnce(t *testing.T) contender {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNotFound)
		}
		once.Do(func() { time.Sleep(100 * time.Millisecond) })
		_, _ = w.Write([]byte("1"))
	})}
	go func() { _ = web.Serve(l) }()
	t.Cleanup(func() { web.Close() })
	return contender{name: "one", path: "/", address: l.Addr().String()}
}

// In the open loop, a server that is slow for a while is charged for all requests that were due meanwhile.
func TestOpen(t *testing.T) {
	t.Parallel()
	c := slowOnce(t)
	h, took, err := c.load(t.Context(), 500, 200*time.Millisecond, 1)
	if err != nil || h.TotalCount() != 100 || took < 198*time.Millisecond {
		t.Errorf("%d requests in %v, %v, want 100 in 200 ms at the least", h.TotalCount(), took, err)
	}
	if late := h.ValueAtQuantile(60); late < 20e6 { // of 100 requests, 50 were due while the first was answered
		t.Errorf("60 of 100 requests took at most %v ns, want the 100 ms to count for those that were due", late)
	}
	c.path = "/no such path"
	if _, _, err := c.load(t.Context(), 500, 100*time.Millisecond, 1); err == nil {
		t.Error("an answer that is not 200 is no error")
	}
}

// A server that hangs is an error and does not keep the bench. It is not parallel: it shortens patience.
func TestHangingServer(t *testing.T) {
	defer func(before time.Duration) { patience = before }(patience)
	patience = 50 * time.Millisecond
	l, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := contender{name: "one", path: "/", address: l.Addr().String()}
	_, took, err := c.load(t.Context(), 500, 20*time.Millisecond, 2)
	if !errors.Is(err, os.ErrDeadlineExceeded) || took > 10*time.Second {
		t.Errorf("%v after %v, want %v", err, took, os.ErrDeadlineExceeded)
	}
}

// In the closed loop, it is charged for one, and every connection asks until the end.
func TestClosed(t *testing.T) {
	t.Parallel()
	c := slowOnce(t)
	h, took, err := c.load(t.Context(), 0, 300*time.Millisecond, 2)
	if err != nil || h.TotalCount() < 100 || took < 300*time.Millisecond {
		t.Errorf("%d requests in %v, %v, want 100 and more in 300 ms", h.TotalCount(), took, err)
	}
	if slow := h.ValueAtQuantile(90); slow > 50e6 || h.Max() < 90e6 {
		t.Errorf("90 of 100 requests took at most %v ns, the slowest %v, want the 100 ms to count for it alone",
			slow, h.Max())
	}
}

// A rate that the first contender does not hold is the last.
func TestRates(t *testing.T) {
	t.Parallel()
	c := slowOnce(t) // a single connection does not hold 10,000 a second while it is slow
	text := &strings.Builder{}
	m := &meter{rounds: 1, duration: 40 * time.Millisecond, conns: 1, open: true, within: time.Minute, out: text}
	if err := m.measure(t.Context(), []contender{c}); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); strings.Count(got, "\n   10000/s") != 1 || !strings.Contains(got, "one: not held\n") {
		t.Errorf("printed\n%s\nwant that one does not hold 10,000 a second, and no other rate", got)
	}
}
