package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestServiceFaults: the faults of the service's network fail a client's extension until they are
// healed, and leave the server's network alone.
func TestServiceFaults(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
	}))
	t.Cleanup(s.Close)
	target := s.Listener.Addr().String()
	in := &injector{proxy: dbtest.NewProxy(t, target), front: dbtest.NewProxy(t, target)}
	extend := func(p *dbtest.Proxy) error {
		c := http.Client{Timeout: 500 * time.Millisecond, // less than a delay in both directions
			Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://"+p.Addr()+"/api/worker/extend", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		response, err := c.Do(r)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	works := func(p *dbtest.Proxy) bool {
		for range 20 { // a busy machine may be late
			if extend(p) == nil {
				return true
			}
		}
		return false
	}
	for _, f := range unreliableService() {
		heal, err := f.harm(in, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if err := extend(in.front); err == nil {
			t.Errorf("during %q an extension at the service succeeds", f.name)
		}
		if !works(in.proxy) {
			t.Errorf("during %q no request at the server succeeds", f.name)
		}
		if err := heal(); err != nil {
			t.Fatal(err)
		}
		if !works(in.front) {
			t.Fatalf("after %q no extension succeeds", f.name)
		}
	}
}
