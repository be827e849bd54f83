package service_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// TestIDs: over a real connection a body is an id and nothing else, and no answer may be cached.
func TestIDs(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHandler(t, &service.HandlerOptions{
		Segment:   newSegments(t, map[string]*tagRow{"order": {next: 1, step: 10}, "a/b": {next: 700, step: 10}}),
		Snowflake: &snowflake{id: 8384511},
	}))
	defer server.Close()
	for _, tt := range []struct{ path, want string }{
		{"/api/segment/get/order", "1"}, {"/api/segment/get/order", "2"}, {"/api/segment/get/a%2Fb", "700"},
		{"/api/snowflake/get/order", "8384512"}, {"/api/snowflake/get/whatever", "8384513"},
	} {
		resp, err := http.Get(server.URL + tt.path)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(body) != tt.want || resp.StatusCode != http.StatusOK || err != nil {
			t.Errorf("GET %s = %d %q, %v, want 200 %q", tt.path, resp.StatusCode, body, err, tt.want)
		}
		if got := resp.Header.Get("Cache-Control"); got != "no-store" {
			t.Errorf("GET %s: Cache-Control is %q, want no-store", tt.path, got)
		}
	}
}

// TestCount: a request gets as many ids of either kind as it asks for, or those that are left.
func TestCount(t *testing.T) {
	t.Parallel()
	rows := map[string]*tagRow{"order": {
		next: 9007199254740991, step: 10, until: 9007199254740991 + 20, err: segment.ErrExhausted,
	}}
	h := newHandler(t, &service.HandlerOptions{
		Segment: newSegments(t, rows), Snowflake: &snowflake{id: 6}, Timeout: 100 * time.Millisecond,
	})
	for _, tt := range []struct {
		path, want string
		status     int
	}{
		{"/api/snowflake/get/a?count=3", `["7","8","9"]`, 200},
		{"/api/snowflake/get/a?count=1", `["10"]`, 200},
		{"/api/snowflake/get/a", "11", 200},
		{"/api/segment/get/order?count=2", `["9007199254740991","9007199254740992"]`, 200},
		{"/api/segment/get/order", "9007199254740993", 200},
		{"/api/segment/get/order?count=", `count is "", want 1..1000`, 400},
		{"/api/segment/get/order?count=0", `count is "0", want 1..1000`, 400},
		{"/api/segment/get/order?count=-1", `count is "-1", want 1..1000`, 400},
		{"/api/segment/get/order?count=1001", `count is "1001", want 1..1000`, 400},
		{"/api/segment/get/order?count=x", `count is "x", want 1..1000`, 400},
		{"/api/segment/get/order?count=16", `["9007199254740994",`, 200},
		{"/api/segment/get/nobody?count=2", "unknown key", 404},
	} {
		w := get(h, tt.path)
		if got := strings.TrimSpace(w.Body.String()); w.Code != tt.status || !strings.HasPrefix(got, tt.want) {
			t.Errorf("GET %s = %d %s, want %d %s", tt.path, w.Code, got, tt.status, tt.want)
		}
	}
	// The counter has one id left.
	w := get(h, "/api/segment/get/order?count=5")
	if w.Code != 200 || strings.TrimSpace(w.Body.String()) != `["9007199254741010"]` {
		t.Errorf("five ids of a counter that has one left = %d %s, want that one", w.Code, w.Body)
	}
	if w := get(h, "/api/segment/get/order?count=5"); w.Code < 500 {
		t.Errorf("five ids of a counter that has none left = %d %s, want an error", w.Code, w.Body)
	}
}

// TestConcurrent: no two requests get the same id.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	g := newSegments(t, map[string]*tagRow{"order": {next: 0, step: 7}})
	h := newHandler(t, &service.HandlerOptions{Segment: g})
	const clients, each = 8, 200
	seen := make([]bool, clients*each)
	var (
		mu sync.Mutex
		wg sync.WaitGroup
	)
	for range clients {
		wg.Go(func() {
			for range each {
				id, err := strconv.Atoi(get(h, "/api/segment/get/order").Body.String())
				mu.Lock()
				if err != nil || id < 0 || id >= len(seen) || seen[id] {
					t.Errorf("got %d, %v, out of range or twice", id, err)
				} else {
					seen[id] = true
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// TestFailures: the status tells the client what to do. The body has no details of the database, the
// log has them.
func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := newHandler(t, &service.HandlerOptions{
			Segment: newSegments(t, map[string]*tagRow{
				"away": {err: errAway}, "full": {err: fmt.Errorf("row full: %w", segment.ErrExhausted)},
				"back": {err: fmt.Errorf("row back: %w", segment.ErrRangeWentBack)},
			}),
			Snowflake: &snowflake{err: fmt.Errorf("window ended: %w", uid.ErrClaimExpired)},
			Timeout:   300 * time.Millisecond,
			Logger:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		for _, tt := range []struct {
			path, body, logged string
			status             int
			retry              bool
		}{
			{"/api/segment/get/nobody", `unknown key "nobody"`, "", 404, false},
			{"/api/segment/get/away", "no id at present", "connection refused", 503, true},
			{"/api/segment/get/full", "no id until an operator has looked into it", "row full", 500, false},
			{"/api/segment/get/back", "no id until an operator has looked into it", "row back", 500, false},
			{"/api/snowflake/get/x", "no id at present", "window ended", 503, true},
			{"/api/segment/get/", "404 page not found", "", 404, false},
			{"/elsewhere", "404 page not found", "", 404, false},
		} {
			time.Sleep(time.Second) // the log takes one line of each status a second
			log.Reset()
			begin := time.Now()
			w := get(h, tt.path)
			body, retry := strings.TrimSpace(w.Body.String()), w.Header().Get("Retry-After")
			if w.Code != tt.status || body != tt.body || (retry != "") != tt.retry {
				t.Errorf("GET %s = %d %q, Retry-After %q, want %d %q, %v",
					tt.path, w.Code, body, retry, tt.status, tt.body, tt.retry)
			}
			if took := time.Since(begin); took > 300*time.Millisecond {
				t.Errorf("GET %s took %v, want at most Timeout, 300ms", tt.path, took)
			}
			if !strings.Contains(log.String(), tt.logged) || tt.logged == "" && log.Len() > 0 {
				t.Errorf("GET %s logs %q, want %q in it", tt.path, log.String(), tt.logged)
			}
		}
	})
}
