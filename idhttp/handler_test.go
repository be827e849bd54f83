package idhttp_test

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
	"github.com/uidring/uidring/bitsalloc/compat"
	"github.com/uidring/uidring/idhttp"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/uid"
)

// source is a Source in memory with the tags that it is told of.
type source struct {
	mu   sync.Mutex
	tags map[string]*tagRow
}

// tagRow is a tag's counter, and what its fetches come to once it has passed until.
type tagRow struct {
	next, step, until, stride int64
	err                       error
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
	r := segment.Range{From: row.next, To: row.next + step, Step: row.step, Stride: row.stride}
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

func (s *snowflake) Fill(_ context.Context, ids []uid.ID) (int, error) {
	for i := range ids {
		s.id++
		ids[i] = s.id
	}
	return len(ids), s.err
}

// counted is a snowflake that reports figures.
type counted struct {
	snowflake
	stats uid.Stats
}

func (c *counted) Stats() uid.Stats { return c.stats }

func newHandler(tb testing.TB, o *idhttp.Options) http.Handler {
	tb.Helper()
	h, err := idhttp.New(o)
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

// TestIDs: the bodies are ids and nothing else, over a real connection, and no answer may be
// cached.
func TestIDs(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(newHandler(t, &idhttp.Options{
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

// TestCount: a request gets as many ids as it asks for, of both kinds, or as many as there are.
func TestCount(t *testing.T) {
	t.Parallel()
	rows := map[string]*tagRow{"order": {
		next: 9007199254740991, step: 10, until: 9007199254740991 + 20, err: segment.ErrExhausted,
	}}
	h := newHandler(t, &idhttp.Options{
		Segment: newSegments(t, rows), Snowflake: &snowflake{id: 6}, Timeout: 100 * time.Millisecond,
	})
	for _, tt := range []struct {
		path, want string
		status     int
	}{
		{"/api/snowflake/get/a?count=3", `["7","8","9"]`, 200},
		{"/api/snowflake/get/a?count=1", `["10"]`, 200},
		{"/api/snowflake/get/a?other=1", "11", 200},
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
	// One id is left of the counter.
	if w := get(h, "/api/segment/get/order?count=5"); w.Code != 200 || strings.TrimSpace(w.Body.String()) != `["9007199254741010"]` {
		t.Errorf("five ids of a counter that has one left = %d %s, want that one", w.Code, w.Body)
	}
	if w := get(h, "/api/segment/get/order?count=5"); w.Code < 500 {
		t.Errorf("five ids of a counter that has none left = %d %s, want an error", w.Code, w.Body)
	}
}

// TestConcurrent: no two requests get the same id.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &idhttp.Options{Segment: newSegments(t, map[string]*tagRow{"order": {next: 0, step: 7}})})
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

// TestFailures: the status says what the client may do, and neither body nor status gives the
// database's details away; the log has them.
func TestFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		h := newHandler(t, &idhttp.Options{
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
	leaf := newHandler(t, &idhttp.Options{Snowflake: &snowflake{}, Location: time.FixedZone("CST", 8*3600)})
	made := func(layout bitsalloc.Layout) (http.Handler, string) {
		a, err := bitsalloc.New(layout)
		if err != nil {
			t.Fatal(err)
		}
		id, err := a.Compose(a.TickAt(time.Date(2026, 11, 21, 1, 2, 3, 456e6, time.UTC)), 39, 448)
		if err != nil {
			t.Fatal(err)
		}
		return newHandler(t, &idhttp.Options{Snowflake: &snowflake{}, Location: time.UTC, Layout: &layout}), fmt.Sprint(id)
	}
	epoch, ownID := made(bitsalloc.Snowflake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)))
	seconds, secondsID := made(bitsalloc.Layout{})
	gene, geneID := made(compat.ShardGene())
	short, shortID := made(bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 10})
	for _, tt := range []struct {
		h    http.Handler
		id   string
		want map[string]string
	}{
		{leaf, "8384512", map[string]string{"timestamp": "1288834974658(2010-11-04 09:42:54.658)", "workerId": "1023", "sequenceId": "0"}},
		{leaf, "0", map[string]string{"timestamp": "1288834974657(2010-11-04 09:42:54.657)", "workerId": "0", "sequenceId": "0"}},
		{epoch, ownID, map[string]string{"timestamp": "1795222923456(2026-11-21 01:02:03.456)", "workerId": "39", "sequenceId": "448"}},
		{seconds, secondsID, map[string]string{"timestamp": "1795222923000(2026-11-21 01:02:03.000)", "workerId": "39", "sequenceId": "448"}},
		{short, shortID, map[string]string{"timestamp": "1795222923000(2026-11-21 01:02:03.000)", "workerId": "39", "sequenceId": "448"}},
		{gene, geneID, map[string]string{"timestamp": "1795222923456(2026-11-21 01:02:03.456)", "workerId": "39", "sequenceId": "448", "gene": "0"}},
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
	if w := get(short, "/decodeSnowflakeId?snowflakeId=1125899906842624"); w.Code != 400 || !strings.Contains(w.Body.String(), "0 to 1125899906842623") {
		t.Errorf("an id above the layout's 50 bits = %d %s, want 400 with the bound", w.Code, w.Body)
	}
}

// TestStopping: from the moment that the server is to stop it is down for those who share requests
// out, and hands out ids to those who still ask.
func TestStopping(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	h := newHandler(t, &idhttp.Options{Snowflake: &counted{}, Stopping: stopping})
	if w := get(h, "/health"); w.Code != 200 {
		t.Errorf("health is %d %s, want 200", w.Code, w.Body)
	}
	close(stopping)
	if w := get(h, "/health"); w.Code != 503 || !strings.Contains(w.Body.String(), `"the server is stopping"`) {
		t.Errorf("health is %d %s, want 503 with the reason", w.Code, w.Body)
	}
	if w := get(h, "/api/snowflake/get/any"); w.Code != 200 {
		t.Errorf("an id is %d %s, want 200", w.Code, w.Body)
	}
}

// TestHealth: up, degraded, and down when another server may do better or when there is nothing to
// lose.
func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := map[string]*tagRow{
			"order": {step: 10, until: 20, err: errAway}, "user": {step: 10, until: 20, err: errAway}, "nobody": {err: errAway},
			"full": {err: fmt.Errorf("row full: %w", segment.ErrExhausted)},
		}
		g := newSegments(t, rows)
		sf := &counted{}
		h := newHandler(t, &idhttp.Options{Segment: g, Snowflake: sf, Timeout: time.Minute})
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
		if w := get(h, "/api/segment/get/full"); w.Code != 500 {
			t.Fatalf("an exhausted tag = %d, want 500", w.Code)
		}
		check(200, `{"status":"degraded","tags":1,"problems":["full: down"]}`)
		sf.stats.Err = uid.ErrExhausted
		check(503, `{"status":"down","tags":1,"problems":["full: down","snowflake: down"]}`)
		sf.stats.Err = nil
		ids("order", 1)
		ids("user", 1)
		check(200, `{"status":"degraded","tags":3,"problems":["full: down"]}`)
		ids("user", 12)
		check(200, `{"status":"degraded","tags":3,"problems":["full: down","user: degraded"]}`)
		ids("user", 7)
		check(200, `{"status":"degraded","tags":3,"problems":["full: down","user: down"]}`)

		// The database goes away. A key that nobody has heard of does not take away the tag that has ids.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go g.Next(ctx, "nobody")
		check(200, `{"status":"degraded","tags":4,"problems":["full: down","nobody: down","user: down"]}`)
		ids("order", 19)
		check(503, `{"status":"down","tags":4,"problems":["full: down","nobody: down","order: down","user: down"]}`)
	})
}

// TestHealthSnowflake: one kind of ids that this process cannot give any more takes the process
// away.
func TestHealthSnowflake(t *testing.T) {
	t.Parallel()
	g := newSegments(t, map[string]*tagRow{"order": {step: 10}})
	if _, err := g.Next(t.Context(), "order"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		err    error
		status int
		body   string
	}{
		{nil, 200, `{"status":"up","tags":1,"problems":[]}`},
		{uid.ErrClaimLost, 503, `{"status":"down","tags":1,"problems":["snowflake: down"]}`},
		{uid.ErrClaimExpired, 503, `{"status":"down","tags":1,"problems":["snowflake: down"]}`},
		{uid.ErrExhausted, 200, `{"status":"degraded","tags":1,"problems":["snowflake: down"]}`},
	} {
		h := newHandler(t, &idhttp.Options{Segment: g, Snowflake: &counted{stats: uid.Stats{Err: tt.err}}})
		if w := get(h, "/health"); w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body {
			t.Errorf("%v: health is %d %s, want %d %s", tt.err, w.Code, w.Body, tt.status, tt.body)
		}
	}
	until := time.Unix(1800000000, 0)
	for problem, stats := range map[string]uid.Stats{
		"ids until 2027-01-15T08:00:00Z":                    {ExtendErr: errors.New("no route to host"), IDsUntil: until},
		"the clock jumped ahead by 2h0m0s and is held back": {ClockHeld: 2 * time.Hour, IDsUntil: until},
	} {
		h := newHandler(t, &idhttp.Options{Segment: g, Snowflake: &counted{stats: stats}})
		want := `{"status":"degraded","tags":1,"problems":["snowflake: degraded, ` + problem + `"]}`
		if w := get(h, "/health"); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("health is %d %s, want 200 %s", w.Code, w.Body, want)
		}
	}
}

// TestParts: a route without its generator is not found, and a handler without any is an error.
func TestParts(t *testing.T) {
	t.Parallel()
	segments := newHandler(t, &idhttp.Options{Segment: newSegments(t, nil)})
	if w := get(segments, "/api/snowflake/get/x"); w.Code != 404 {
		t.Errorf("a time-ordered id without a generator = %d, want 404", w.Code)
	}
	if w := get(segments, "/"); w.Code != 200 || !strings.Contains(w.Body.String(), "No tag has been asked for yet") || strings.Contains(w.Body.String(), "Time-ordered") {
		t.Errorf("the page without tags = %d %s", w.Code, w.Body)
	}
	times := newHandler(t, &idhttp.Options{Snowflake: &snowflake{}})
	if w := get(times, "/api/segment/get/x"); w.Code != 404 {
		t.Errorf("an id of a tag without a generator = %d, want 404", w.Code)
	}
	if w := get(times, "/cache"); w.Code != 200 || strings.Contains(w.Body.String(), "Number segments") {
		t.Errorf("the page without segments = %d %s", w.Code, w.Body)
	}
	for _, o := range []*idhttp.Options{nil, {}, {Snowflake: &snowflake{}, Timeout: -1}, {Snowflake: &snowflake{}, Layout: &bitsalloc.Layout{TimeBits: 60, WorkerBits: 60, SeqBits: 60}}} {
		if h, err := idhttp.New(o); err == nil {
			t.Errorf("New(%+v) = %v, want an error", o, h)
		}
	}
}
