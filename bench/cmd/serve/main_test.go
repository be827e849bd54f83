package main

import (
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/server"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const text = "  Latency Distribution\n     50%  315.00us\n     75%  549.00us\n     99%    " +
		"2.05ms\n  78430 requests in 2.00s, 1.2MB read\nRequests/sec:  39215.06\n"
	n, rate, p50, p99, err := parse(text)
	if n != 78430 || rate != 39215.06 || p50 != 315 || p99 != 2050 || err != nil {
		t.Errorf("parse = %v, %v, %v, %v, %v", n, rate, p50, p99, err)
	}
	for _, bad := range []string{"", text + "  Non-2xx or 3xx responses: 7\n"} {
		if _, _, _, _, err := parse(bad); err == nil {
			t.Errorf("parse(%q) succeeds", bad)
		}
	}
}

// TestOpen: the open loop goes up to the first rate that the first contender does not hold. A server that
// is slow for a while is charged for all requests that were due meanwhile.
func TestOpen(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	web := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		once.Do(func() { time.Sleep(100 * time.Millisecond) })
		_, _ = w.Write([]byte("1"))
	})}
	go func() { _ = web.Serve(l) }()
	defer web.Close()
	c := contender{name: "one", path: "/", Server: &server.Server{Address: l.Addr().String()}}
	h, took, err := c.paced(t.Context(), 500, 200*time.Millisecond, 1)
	if err != nil || h.TotalCount() != 100 || took < 198*time.Millisecond {
		t.Errorf("%d requests in %v, %v, want 100 in 200 ms at the least", h.TotalCount(), took, err)
	}
	if late := quantile(h, 60); late < 20_000 { // of 100 requests, 50 were due while the first was answered
		t.Errorf("60 of 100 requests took at most %v µs, want the 100 ms to count for those that were due", late)
	}
	c.path = "/no such path"
	if _, _, err := c.paced(t.Context(), 500, 100*time.Millisecond, 1); err == nil {
		t.Error("an answer that is not 200 is no error")
	}
}
