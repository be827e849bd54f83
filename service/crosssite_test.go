package service_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/service"
)

// TestCrossSite: a page of another origin gets no id, no range and no worker id through the browser of
// a person who visits it. Programs, and the pages of the service's own origin, do.
func TestCrossSite(t *testing.T) {
	t.Parallel()
	h := newHandler(t, &service.HandlerOptions{Segment: newSegments(t, map[string]*tagRow{"order": {step: 10}}),
		Snowflake: &snowflake{}, Workers: &claimtest.Memory{}})
	for _, route := range []struct{ method, path, body string }{
		{"GET", "/api/segment/get/order", ""}, {"POST", "/api/segment/get/order", ""},
		{"GET", "/api/segment/get/order?count=2", ""}, {"GET", "/api/snowflake/get/any", ""},
		{"POST", "/api/segment/range/order", ""},
		{"POST", "/api/worker/assign", `{"max_worker":1023,"layout":"41-10-12-0/1ms@2010-11-04T01:42:54.657Z"}`},
	} {
		for _, from := range []struct {
			name, value string
			refused     bool
		}{
			{"Sec-Fetch-Site", "cross-site", true}, {"Sec-Fetch-Site", "same-site", true},
			{"Sec-Fetch-Site", "same-origin", false}, {"Sec-Fetch-Site", "none", false},
			{"Origin", "https://evil.example", true}, {"Origin", "null", true}, {"Origin", "http://[", true},
			{"Origin", "http://ids.example:8080", false}, {"Origin", "http://ids.example", true},
			{"Accept", "*/*", false},
		} {
			r := httptest.NewRequest(route.method, route.path, strings.NewReader(route.body))
			r.Host = "ids.example:8080"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set(from.name, from.value)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			want := http.StatusOK
			if from.refused {
				want = http.StatusForbidden
			}
			if w.Code != want {
				t.Errorf("%s %s with %s %q: %d %s, want %d",
					route.method, route.path, from.name, from.value, w.Code, w.Body, want)
			}
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Header.Set("Sec-Fetch-Site", "cross-site") // a link to the status page
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != http.StatusOK {
		t.Errorf("a link to the page is %d", w.Code)
	}
}
