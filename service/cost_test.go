package service_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
)

// nowhere is a ResponseWriter that discards the body.
type nowhere struct {
	header http.Header
	status int
}

func (n *nowhere) Header() http.Header         { return n.header }
func (n *nowhere) WriteHeader(status int)      { n.status = status }
func (n *nowhere) Write(b []byte) (int, error) { return len(b), nil }

// TestAllocs: an id that needs no wait costs six allocations: four for its context with a timeout, one for the mux and
// one for its digits.
func TestAllocs(t *testing.T) {
	g := newSegments(t, map[string]*tagRow{"order": {next: 1 << 40, step: 1 << 20}})
	if _, err := g.Tag(t.Context(), "order"); err != nil {
		t.Fatal(err)
	}
	h := newHandler(t, &service.HandlerOptions{Segment: g, Snowflake: &snowflake{id: 1 << 60}})
	for _, path := range []string{"/api/segment/get/order", "/api/snowflake/get/any"} {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		w := &nowhere{header: http.Header{}}
		if n := testing.AllocsPerRun(1000, func() { h.ServeHTTP(w, r) }); n > 6 || w.status != 0 {
			t.Errorf("GET %s: %v allocations, status %d, want 6", path, n, w.status)
		}
	}
}

// BenchmarkHandler measures the handler itself, without a connection, next to a handler that answers
// with a constant.
func BenchmarkHandler(b *testing.B) {
	g := newSegments(b, map[string]*tagRow{"order": {next: 1 << 40, step: 1 << 30}})
	served := newHandler(b, &service.HandlerOptions{Segment: g, Snowflake: &snowflake{id: 1 << 60}})
	digits := []byte("1152921504606846976")
	for _, c := range []struct {
		name, path string
		h          http.Handler
	}{
		{"constant", "/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(digits)
		})},
		{"segment", "/api/segment/get/order", served},
		{"time-ordered", "/api/snowflake/get/any", served},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, c.path, http.NoBody)
			w := &nowhere{header: http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				c.h.ServeHTTP(w, r)
			}
		})
	}
}

// TestHeaders: answers share header values, and no answer changes another's.
func TestHeaders(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{}})
	w := get(h, "/api/snowflake/get/a")
	w.Header().Add("Cache-Control", "public")
	w.Header().Set("Content-Type", "text/html")
	after := get(h, "/api/snowflake/get/a").Header()
	got := after.Values("Cache-Control")
	if len(got) != 1 || got[0] != "no-store" || after.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("after a change of another answer's header, the header is %v", after)
	}
}

// TestPaths: a key is what the path says, decoded once.
func TestPaths(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service.HandlerOptions{Segment: newSegments(t, map[string]*tagRow{
		"order": {next: 1, step: 10},
		"a/b":   {next: 100, step: 10},
		".":     {next: 200, step: 10},
		"%2E":   {next: 300, step: 10},
	})})
	for _, tt := range []struct {
		path, want string
		status     int
	}{
		{"/api/segment/get/order", "1", 200},
		{"/api/segment/get/order?", "2", 200},
		{"/api/segment/get/order?x=y", "", 400},
		{"/api/segment/get/%6Frder", "3", 200},
		{"/api/segment/get/a%2Fb", "100", 200},
		{"/api/segment/get/%2E", "200", 200},
		{"/api/segment/get/%252E", "300", 200},
		{"/api/segment/get/a/b", "", 404}, {"/api/segment/get/", "", 404}, {"/api/segment/get", "", 404},
	} {
		w := get(h, tt.path)
		if w.Code != tt.status || tt.want != "" && w.Body.String() != tt.want {
			t.Errorf("GET %s = %d %q, want %d %q", tt.path, w.Code, w.Body, tt.status, tt.want)
		}
	}
	for _, path := range []string{"/api/segment/get/.", "/api/segment/get/..", "/api//segment/get/order"} {
		if w := get(h, path); w.Header().Get("Location") == "" {
			t.Errorf("GET %s = %d %q, want a redirect", path, w.Code, w.Body)
		}
	}
}

// TestPatience: a call for a tag without ids fails after the timeout.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := map[string]*tagRow{"away": {err: errAway}, "order": {step: 10}}
		g, err := segment.New(t.Context(), &source{tags: rows}, &segment.Options{MaxStep: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		h := newHandler(t, &service.HandlerOptions{Segment: g, Timeout: 300 * time.Millisecond})
		begin := time.Now()
		if w := get(h, "/api/segment/get/away"); w.Code != 503 || time.Since(begin) != 300*time.Millisecond {
			t.Errorf("a tag without ids = %d after %v, want 503 after 300ms", w.Code, time.Since(begin))
		}
	})
}
