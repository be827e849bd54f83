package service_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

var errNoRoute = errors.New("dial tcp 10.0.0.7:3306: <no route> to host")

// fixed is a source of given figures.
type fixed struct {
	uid.Generator
	stats uid.Stats
}

func (f fixed) Stats() uid.Stats { return f.stats }

// named is an authority that says where it is.
type named struct{ *claimtest.Memory }

func (named) String() string { return "the <registry>" }

// TestProbe: a probe fails for a generator without ids and for no other.
func TestProbe(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, 11, 21, 3, 4, 5, 0, time.UTC)
	up, degraded, down := fixed{}, fixed{stats: uid.Stats{ExtendErr: errNoRoute, IDsUntil: until}},
		fixed{stats: uid.Stats{Err: uid.ErrExhausted}}
	for _, c := range []struct {
		generators []uid.Generator
		code       int
		status     string
		reason     string
	}{
		{nil, 200, "up", ""},
		{[]uid.Generator{up, up}, 200, "up", ""},
		{[]uid.Generator{up, degraded, up}, 200, "degraded", "ids until 2026-11-21T03:04:05Z"},
		{[]uid.Generator{down, degraded}, 503, "down", "time bits exhausted"},
		{[]uid.Generator{degraded, down}, 503, "down", "time bits exhausted"},
	} {
		w := get(service.Health(c.generators...), "/")
		var got struct {
			Status, Reason string
			Until          time.Time
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if w.Code != c.code || got.Status != c.status || !strings.Contains(got.Reason, c.reason) ||
			(c.reason == "") != (got.Reason == "") {
			t.Errorf("%v: %d %s", c.generators, w.Code, w.Body)
		}
		if (c.status == "degraded") != got.Until.Equal(until) {
			t.Errorf("%s until %v", c.status, got.Until)
		}
		if w.Header().Get("Cache-Control") != "no-store" || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("header %v", w.Header())
		}
	}
}

// TestGeneratorsPage: the page shows an outage while it lasts and afterwards, escapes what errors hold, and
// loads nothing.
func TestGeneratorsPage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &claimtest.Memory{Length: 4 * time.Minute}
		g, err := uid.NewCached(t.Context(), named{a},
			&uid.Options{Layout: bitsalloc.Layout{Epoch: time.Date(1999, 12, 31, 0, 0, 0, 0,
				time.UTC)}})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		page := service.NewPage(map[string]uid.Generator{"orders <1>": g,
			"gone": fixed{stats: uid.Stats{Err: uid.ErrClosed, RejectsClaim: 17}}})
		defer page.Close()
		want := func(parts ...string) {
			t.Helper()
			synctest.Wait()
			w := get(page, "/")
			text := strings.ReplaceAll(html.UnescapeString(w.Body.String()), "\u202f", " ")
			for _, part := range parts {
				if !strings.Contains(text, part) {
					t.Errorf("the page lacks %q", part)
				}
			}
			for _, bad := range []string{"<script", "http://", "https://", "url(", "ZgotmplZ", "<no route>", "<1>"} {
				if strings.Contains(w.Body.String(), bad) {
					t.Errorf("the page has %q", bad)
				}
			}
			if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
				t.Errorf("Content-Security-Policy is %q", csp)
			}
		}
		want("<h2>gone</h2>", `"state down"`, "Failed: no claim<dd class=\"down\">17",
			"<h2>orders <1></h2>", `"state up"`,
			"28-22-13-0/1s@", "from the <registry>",
			"65 536 of 65 536", "Calls that failed<dd>0", "1, 2048", "2008-07-02 21:24:16",
			"<h3>Window</h3>\n<div class=\"gauge\"><i style=\"width:100.0%\">")

		if _, err := g.Fill(t.Context(), make([]uid.ID, 240_000)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		want("<dt>A second, last minute<dd>4 000", "240 000", ">+30s<")

		a.Fail(errNoRoute)
		time.Sleep(3 * time.Minute)
		want(`"state degraded"`, "degraded: ids until 2000-01-01T00:04",
			"dial tcp 10.0.0.7:3306: <no route> to host", "Failing since")
		time.Sleep(2 * time.Minute)
		_, _ = g.Next(t.Context())
		want(`"state down"`, "down: uid: claim expired", "Failed: no claim<dd class=\"down\">1\n",
			"<h3>Window</h3>\n<div class=\"gauge\"><i style=\"width:0.0%\">")
		a.Fail(nil)
		time.Sleep(time.Minute)
		want(`"state up"`, "</time> up</li>", "degraded: ids until 2000-01-01T00:04", "down: uid: claim expired")
		if err := page.Close(); err != nil {
			t.Fatal(err)
		}
		want("<h2>gone</h2>")
	})
	empty := service.NewPage(nil)
	defer empty.Close()
	if body := get(empty, "/").Body.String(); !strings.Contains(body, "No generators.") {
		t.Errorf("without generators the page is %s", body)
	}
}

// tags is a generator of segments with these figures.
type tags segment.Stats

func (s tags) Stats() segment.Stats { return segment.Stats(s) }

// TestPageSegments: a generator of segments is down where none of its tags has ids, and degraded
// where one has a problem. Tags that are down come first. The page is as bad as its worst generator.
func TestPageSegments(t *testing.T) {
	t.Parallel()
	many := tags{ListErr: errNoRoute}
	for i := range 250 {
		many.Tags = append(many.Tags, segment.TagStats{Tag: fmt.Sprintf("tag-%03d", i), Left: 1234567, Step: 1000})
	}
	many.Tags[240].Err = errNoRoute
	empty := segment.TagStats{Tag: "<used up>", Err: errNoRoute, Failures: 17}
	page := service.NewPage(nil)
	defer page.Close()
	page.AddSegments("many", many)
	page.AddSegments("failing", tags{Tags: []segment.TagStats{{Tag: "first"}, many.Tags[240], empty}})
	page.AddSegments("none", tags{})
	page.AddSegments("out", tags{Tags: []segment.TagStats{empty}})
	text := strings.ReplaceAll(html.UnescapeString(get(page, "/").Body.String()), "\u202f", " ")
	rest := text
	for _, part := range []string{"<title>down", "<h2>many</h2>", `"state degraded"`, "could not be read: dial",
		">tag-240\n", ">1 234 567\n", "<no route>", ">tag-000\n", ">tag-048\n", "Page 1 of 5", "<h2>failing</h2>",
		`"state degraded"`, "><used up>\n", `"state down"`, "(17 failed)", ">tag-240\n", ">first\n", "<h2>none</h2>", `"state up"`,
		"No tag has been asked for", "<h2>out</h2>", `"state down"`} {
		i := strings.Index(rest, part)
		if i < 0 {
			t.Fatalf("the page lacks %q after what comes before it", part)
		}
		rest = rest[i:]
	}
	for _, bad := range []string{">tag-049\n", "No generators.", "ZgotmplZ"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if strings.Contains(get(page, "/").Body.String(), "<used up>") {
		t.Error("a tag's name is not escaped")
	}
	if body := get(page, "/?q=TAG-24&page=9").Body.String(); !strings.Contains(body, "10 found") ||
		!strings.Contains(body, ">tag-249\n") || strings.Contains(body, ">tag-000\n") {
		t.Error("a search for a part of the names does not find them")
	}
}
