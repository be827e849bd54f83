package leafhttp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/leafhttp"
	"github.com/uidring/uidring/uid"
)

// source is a Source in memory with the tags that it is told of.
type source struct {
	mu   sync.Mutex
	tags map[string]*tagRow
}

// tagRow is a tag's counter, and what its fetches come to once it has passed until.
type tagRow struct {
	next, step, until int64
	err               error
}

func (s *source) Fetch(_ context.Context, tag string, step int64) (segment.Range, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	row := s.tags[tag]
	if row == nil {
		return segment.Range{}, fmt.Errorf("%w: %q", segment.ErrUnknownTag, tag)
	}
	if row.err != nil && row.next >= row.until {
		return segment.Range{}, row.err
	}
	if step == 0 {
		step = row.step
	}
	r := segment.Range{From: row.next, To: row.next + step, Step: row.step}
	row.next = r.To
	return r, nil
}

var errAway = errors.New("dial tcp 10.1.2.3:3306: connection refused")

func newSegments(tb testing.TB, tags map[string]*tagRow) *segment.Generator {
	tb.Helper()
	g, err := segment.New(tb.Context(), &source{tags: tags}, &segment.Options{MaxStep: 1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = g.Close() })
	return g
}

// snowflake answers with its ids in turn, or with err.
type snowflake struct {
	id  uid.ID
	err error
}

func (s *snowflake) Next(context.Context) (uid.ID, error) {
	s.id++
	return s.id, s.err
}

// counted is a snowflake that reports figures.
type counted struct {
	snowflake
	stats uid.Stats
}

func (c *counted) Stats() uid.Stats { return c.stats }

func newHandler(tb testing.TB, o *leafhttp.Options) http.Handler {
	tb.Helper()
	h, err := leafhttp.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	return h
}

func get(h http.Handler, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w
}

// TestIDs: the bodies are ids and nothing else, over a real connection, and no answer may be cached.
func TestIDs(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHandler(t, &leafhttp.Options{
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

// TestConcurrent: no two requests get the same id.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &leafhttp.Options{Segment: newSegments(t, map[string]*tagRow{"order": {next: 0, step: 7}})})
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

// TestFailures: the status says what the client may do, and neither body nor status gives the database's details away; the log
// has them.
func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := newHandler(t, &leafhttp.Options{
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
			log.Reset()
			begin := time.Now()
			w := get(h, tt.path)
			if w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body || (w.Header().Get("Retry-After") != "") != tt.retry {
				t.Errorf("GET %s = %d %q, Retry-After %q, want %d %q, %v", tt.path, w.Code, w.Body, w.Header().Get("Retry-After"), tt.status, tt.body, tt.retry)
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

// TestDecode: the original's keys and forms, at its default epoch and at one of the service's own.
func TestDecode(t *testing.T) {
	t.Parallel()
	leaf := newHandler(t, &leafhttp.Options{Snowflake: &snowflake{}, Location: time.FixedZone("CST", 8*3600)})
	epoch := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	own := newHandler(t, &leafhttp.Options{Snowflake: &snowflake{}, Location: time.UTC, Epoch: epoch})
	a, err := bitsalloc.New(bitsalloc.Snowflake(epoch))
	if err != nil {
		t.Fatal(err)
	}
	made, err := a.Compose(a.TickAt(time.Date(2026, 11, 21, 1, 2, 3, 456e6, time.UTC)), 39, 3448)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		h    http.Handler
		id   string
		want map[string]string
	}{
		{leaf, "8384512", map[string]string{"timestamp": "1288834974658(2010-11-04 09:42:54.658)", "workerId": "1023", "sequenceId": "0"}},
		{leaf, "0", map[string]string{"timestamp": "1288834974657(2010-11-04 09:42:54.657)", "workerId": "0", "sequenceId": "0"}},
		{own, fmt.Sprint(made), map[string]string{"timestamp": "1795222923456(2026-11-21 01:02:03.456)", "workerId": "39", "sequenceId": "3448"}},
	} {
		w := get(tt.h, "/decodeSnowflakeId?snowflakeId="+tt.id)
		var got map[string]string
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("decode %s = %d %s, %v, want %v", tt.id, w.Code, w.Body, err, tt.want)
		}
	}
	for _, id := range []string{"", "x", "-1", "9223372036854775808", "1.5", "<script>"} {
		w := get(leaf, "/decodeSnowflakeId?snowflakeId="+id)
		if w.Code != 400 || !strings.Contains(w.Body.String(), "errorMsg") || strings.Contains(w.Body.String(), "<") {
			t.Errorf("decode %q = %d %s, want 400 with an errorMsg", id, w.Code, w.Body)
		}
	}
}

// TestHealth: up, degraded while ids are left, down when there are none.
func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newSegments(t, map[string]*tagRow{"order": {step: 10}, "user": {step: 10, until: 20, err: errAway}})
		sf := &counted{}
		h := newHandler(t, &leafhttp.Options{Segment: g, Snowflake: sf})
		check := func(status int, body string) {
			t.Helper()
			synctest.Wait()
			if w := get(h, "/health"); w.Code != status || strings.TrimSpace(w.Body.String()) != body {
				t.Errorf("health is %d %s, want %d %s", w.Code, w.Body, status, body)
			}
		}
		ids := func(tag string, n int) {
			t.Helper()
			if _, err := g.Fill(t.Context(), tag, make([]int64, n)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		check(200, `{"status":"up","tags":0,"problems":[]}`)
		ids("order", 1)
		ids("user", 1)
		check(200, `{"status":"up","tags":2,"problems":[]}`)
		ids("user", 12)
		check(200, `{"status":"degraded","tags":2,"problems":["user: degraded"]}`)
		ids("user", 7)
		check(503, `{"status":"down","tags":2,"problems":["user: down"]}`)
		sf.stats.Err = uid.ErrClaimLost
		check(503, `{"status":"down","tags":2,"problems":["user: down","snowflake: down"]}`)
	})
}

// TestParts: a route without its generator is not found, and a handler without any is an error.
func TestParts(t *testing.T) {
	t.Parallel()
	segments := newHandler(t, &leafhttp.Options{Segment: newSegments(t, nil)})
	if w := get(segments, "/api/snowflake/get/x"); w.Code != 404 {
		t.Errorf("a time-ordered id without a generator = %d, want 404", w.Code)
	}
	if w := get(segments, "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "No tag has been asked for yet") || strings.Contains(w.Body.String(), "Time-ordered") {
		t.Errorf("the page without tags = %d %s", w.Code, w.Body)
	}
	times := newHandler(t, &leafhttp.Options{Snowflake: &snowflake{}})
	if w := get(times, "/api/segment/get/x"); w.Code != 404 {
		t.Errorf("an id of a tag without a generator = %d, want 404", w.Code)
	}
	if w := get(times, "/cache"); w.Code != 200 || strings.Contains(w.Body.String(), "Number segments") {
		t.Errorf("the page without segments = %d %s", w.Code, w.Body)
	}
	for _, o := range []*leafhttp.Options{nil, {}, {Snowflake: &snowflake{}, Timeout: -1}} {
		if h, err := leafhttp.New(o); err == nil {
			t.Errorf("New(%+v) = %v, want an error", o, h)
		}
	}
}
