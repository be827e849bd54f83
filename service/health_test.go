package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// TestStopping: a server that is about to stop reports down to a load balancer, and still hands out
// ids.
func TestStopping(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	h := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{}, Stopping: stopping})
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

// TestHealth: the service is down only when another server may do better or when it has no ids at all.
func TestHealth(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := map[string]*tagRow{
			"order":  {step: 10, until: 20, err: errAway},
			"user":   {step: 10, until: 20, err: errAway},
			"nobody": {err: errAway},
			"full":   {err: fmt.Errorf("row full: %w", segment.ErrExhausted)},
		}
		g := newSegments(t, rows)
		sf := &snowflake{}
		h := newHandler(t, &service.HandlerOptions{Segment: g, Snowflake: sf, Timeout: time.Minute})
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

		// The database goes away. A key that it has not shown to be a tag is none.
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go g.Next(ctx, "nobody")
		check(200, `{"status":"degraded","tags":3,"problems":["full: down","user: down"]}`)
		ids("order", 19)
		check(503, `{"status":"down","tags":3,"problems":["full: down","order: down","user: down"]}`)
	})
}

// TestHealthRanges: ranges that cannot be fetched are a problem until one is fetched, for a minute at
// most. The service is down if it has no other ids.
func TestHealthRanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := map[string]*tagRow{
			"order": {step: 10}, "user": {step: 10}, "full": {err: fmt.Errorf("row full: %w", segment.ErrExhausted)},
		}
		src := &source{tags: rows}
		g, err := segment.New(t.Context(), src, &segment.Options{MaxStep: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		h := newHandler(t, &service.HandlerOptions{Segment: g, Snowflake: &snowflake{}})
		fetch := func(key string, status int) {
			t.Helper()
			if w := send(h, "POST", "/api/segment/range/"+key, ""); w.Code != status {
				t.Fatalf("a range of %s = %d %s, want %d", key, w.Code, w.Body, status)
			}
		}
		check := func(status int, body string) {
			t.Helper()
			if w := get(h, "/health"); w.Code != status || strings.TrimSpace(w.Body.String()) != body {
				t.Errorf("health is %d %s, want %d %s", w.Code, w.Body, status, body)
			}
		}
		const well = `{"status":"up","tags":0,"problems":[]}`
		fetch("order", 200)
		fetch("nobody", 404)
		check(200, well)
		src.fail("order", errAway)
		fetch("order", 503)
		const down = `{"status":"down","tags":0,"problems":["ranges of order: down"]}`
		check(503, down)
		if w := get(h, "/"); !strings.Contains(w.Body.String(), "ranges of 1 tag, the first of which is order: "+
			"segment: tag &#34;order&#34;: dial tcp") {
			t.Errorf("the page is %s\nwant the tag and the reason", w.Body)
		}
		fetch("user", 200) // so it is the row alone
		check(200, `{"status":"degraded","tags":0,"problems":["ranges of order: down"]}`)
		src.fail("order", nil)
		fetch("order", 200)
		check(200, well)
		fetch("full", 500) // on every server
		check(200, `{"status":"degraded","tags":0,"problems":["ranges of full: down"]}`)
		time.Sleep(time.Minute)
		check(200, well)

		src.fail("order", errAway)
		fetch("order", 503)
		check(503, down)
		time.Sleep(time.Minute)
		check(200, well) // a load balancer tries the server again
		if _, err := g.Next(t.Context(), "user"); err != nil {
			t.Fatal(err)
		}
		fetch("order", 503)
		check(200, `{"status":"degraded","tags":1,"problems":["ranges of order: down"]}`)

		gone, cancel := context.WithCancel(t.Context())
		cancel()
		src.fail("user", errAway)
		r := httptest.NewRequest(http.MethodPost, "/api/segment/range/user", nil)
		h.ServeHTTP(httptest.NewRecorder(), r.WithContext(gone))
		check(200, `{"status":"degraded","tags":1,"problems":["ranges of order: down"]}`)
	})
}

// TestHealthRangesExhausted: a tag without ids on any server does not make the service down, although
// clients that fetch ranges leave no tag in memory. A database that is away does.
func TestHealthRangesExhausted(t *testing.T) {
	t.Parallel()
	src := &source{tags: map[string]*tagRow{
		"order": {step: 10}, "full": {err: fmt.Errorf("row full: %w", segment.ErrExhausted)},
	}}
	g, err := segment.New(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	h := newHandler(t, &service.HandlerOptions{Segment: g})
	for i, tt := range []struct {
		key    string
		err    error // of order
		status int
		health string
	}{
		{"full", nil, 200, `{"status":"degraded","tags":0,"problems":["ranges of full: down"]}`},
		{"order", errAway, 503, `{"status":"down","tags":0,"problems":["ranges of full: down","ranges of order: down"]}`},
		{"full", errAway, 200, // the database answers
			`{"status":"degraded","tags":0,"problems":["ranges of full: down","ranges of order: down"]}`},
		{"order", nil, 200, `{"status":"degraded","tags":0,"problems":["ranges of full: down"]}`},
	} {
		src.fail("order", tt.err)
		send(h, "POST", "/api/segment/range/"+tt.key, "")
		if w := get(h, "/health"); w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.health {
			t.Errorf("%d: health is %d %s, want %d %s", i, w.Code, w.Body, tt.status, tt.health)
		}
	}
}

// TestHealthRangesBounded: of keys that are made up while the source is away, a hundred are remembered,
// and of each 128 characters.
func TestHealthRangesBounded(t *testing.T) {
	t.Parallel()
	rows := map[string]*tagRow{}
	for i := range 200 {
		rows[fmt.Sprintf("tag-%03d%s", i, strings.Repeat("x", 10_000))] = &tagRow{err: errAway}
	}
	h := newHandler(t, &service.HandlerOptions{Segment: newSegments(t, rows)})
	for key := range rows {
		send(h, "POST", "/api/segment/range/"+key, "")
	}
	var got struct{ Problems []string }
	w := get(h, "/health")
	err := json.Unmarshal(w.Body.Bytes(), &got)
	if err != nil || len(got.Problems) != 21 || got.Problems[20] != "and 80 more tags" {
		t.Errorf("health is %d %s, %v, want 20 problems and 80 more", w.Code, w.Body, err)
	}
	if n := w.Body.Len(); n > 20*200 {
		t.Errorf("health has %d bytes, want at most 200 a problem", n)
	}
}

// TestHealthSnowflake: the service is down when this process can no longer make time-ordered ids,
// unless no other process can.
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
		{assigner.ErrClaimLost, 503, `{"status":"down","tags":1,"problems":["snowflake: down"]}`},
		{uid.ErrClaimExpired, 503, `{"status":"down","tags":1,"problems":["snowflake: down"]}`},
		{uid.ErrExhausted, 200, `{"status":"degraded","tags":1,"problems":["snowflake: down"]}`},
	} {
		h := newHandler(t, &service.HandlerOptions{Segment: g, Snowflake: &snowflake{stats: uid.Stats{Err: tt.err}}})
		if w := get(h, "/health"); w.Code != tt.status || strings.TrimSpace(w.Body.String()) != tt.body {
			t.Errorf("%v: health is %d %s, want %d %s", tt.err, w.Code, w.Body, tt.status, tt.body)
		}
	}
	until := time.Unix(1800000000, 0)
	for problem, stats := range map[string]uid.Stats{
		"ids until 2027-01-15T08:00:00Z": {
			ExtendErr: errors.New("no route to host"), IDsUntil: until,
		},
		"the clock jumped ahead by 2h0m0s and is held back": {ClockHeld: 2 * time.Hour, IDsUntil: until},
	} {
		h := newHandler(t, &service.HandlerOptions{Segment: g, Snowflake: &snowflake{stats: stats}})
		want := `{"status":"degraded","tags":1,"problems":["snowflake: degraded, ` + problem + `"]}`
		if w := get(h, "/health"); w.Code != 200 || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("health is %d %s, want 200 %s", w.Code, w.Body, want)
		}
	}
}

// TestHealthBounded: the list of problems has at most 20 tags.
func TestHealthBounded(t *testing.T) {
	t.Parallel()
	rows := map[string]*tagRow{}
	for i := range 30 {
		rows[fmt.Sprintf("tag-%02d", i)] = &tagRow{err: segment.ErrExhausted}
	}
	g := newSegments(t, rows)
	for name := range rows {
		if _, err := g.Next(t.Context(), name); err == nil {
			t.Fatalf("%s has ids", name)
		}
	}
	var got struct{ Problems []string }
	w := get(newHandler(t, &service.HandlerOptions{Segment: g}), "/health")
	err := json.Unmarshal(w.Body.Bytes(), &got)
	if err != nil || len(got.Problems) != 21 || got.Problems[20] != "and 10 more tags" {
		t.Errorf("health is %d %s, %v, want 20 problems and how many more", w.Code, w.Body, err)
	}
}

// unlisted is a source whose list fails from the second time on.
type unlisted struct {
	source

	lists int
}

func (u *unlisted) List(context.Context) ([]segment.Row, error) {
	if u.lists++; u.lists > 1 {
		return nil, errAway
	}
	return []segment.Row{{Tag: "order", Step: 10}, {Tag: "full", Step: 10}}, nil
}

// TestHealthTrusted: /health names the tags, and the reason why their list is old, to clients that are
// trusted. Others get numbers.
func TestHealthTrusted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &unlisted{source: source{tags: map[string]*tagRow{
			"order": {step: 10}, "full": {err: fmt.Errorf("row full: %w", segment.ErrExhausted)},
		}}}
		g, err := segment.New(t.Context(), src, &segment.Options{Listed: true, Refresh: -1, MaxStep: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		time.Sleep(time.Second)
		if err := g.Refresh(t.Context()); err == nil {
			t.Fatal("the list did not fail")
		}
		trusted := func(r *http.Request) bool { return r.URL.RawQuery == "me" }
		h := newHandler(t, &service.HandlerOptions{Segment: g, Trusted: trusted})
		send(h, "POST", "/api/segment/range/full", "")
		for path, want := range map[string]string{
			"/health": `["1 tag: down","ranges of 1 tag: down","list of tags: not read since 2000-01-01T00:00:00Z"]`,
			"/health?me": `["full: down","ranges of full: down","list of tags: not read since 2000-01-01T00:00:00Z: ` +
				`segment: list the tags: dial tcp 10.1.2.3:3306: connection refused"]`,
		} {
			w := get(h, path)
			if w.Code != 200 || !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s is %d %s, want %s", path, w.Code, w.Body, want)
			}
		}
	})
}
