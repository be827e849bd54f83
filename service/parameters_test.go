package service_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/service"
)

// TestParameters: a parameter that is misspelt, or that occurs twice, is refused and uses no id up. A
// client that wrote conut=100 would take one id for a hundred.
func TestParameters(t *testing.T) {
	t.Parallel()
	m := &claimtest.Memory{}
	h := newHandler(t, &service.HandlerOptions{
		Segment:   newSegments(t, map[string]*tagRow{"order": {next: 1, step: 10}}),
		Snowflake: &snowflake{id: 10}, Workers: m,
	})
	const twice, other = "count is given 2 times, want it once", `the parameter \"conut\" is not known, want count`
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/api/segment/get/order?count=2&count=3", twice},
		{"GET", "/api/segment/get/order?conut=2", other},
		{"GET", "/api/segment/get/order?count=2&conut=2", other},
		{"GET", "/api/segment/get/order?count=2&c%zz", "not URL-encoded"},
		{"GET", "/api/segment/get/order?count=2;count=3", "not URL-encoded"},
		{"POST", "/api/snowflake/get/any?count=2&count=2", twice},
		{"GET", "/api/snowflake/get/any?conut", other},
		{"POST", "/api/segment/range/order?count=2&count=3", twice},
		{"POST", "/api/segment/range/order?conut=2", other},
		{"POST", "/api/worker/assign?layout=x", `the parameter \"layout\" is not known, want none`},
		{"GET", "/decodeSnowflakeId?snowflakeId=1&snowflakeId=2", "snowflakeId is given 2 times"},
		{"GET", "/decodeSnowflakeId?id=1", `the parameter \"id\" is not known, want snowflakeId`},
	} {
		w := send(h, tt.method, tt.path, `{"max_worker":7,`+bound+`}`)
		got := w.Body.String()
		if w.Code != 400 || !strings.Contains(got, tt.want) && !strings.Contains(got, strings.ReplaceAll(tt.want, `\"`, `"`)) {
			t.Errorf("%s %s = %d %s, want 400 with %s", tt.method, tt.path, w.Code, got, tt.want)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/decodeSnowflakeId?snowflakeId=1", strings.NewReader("snowflakeId=2"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	if h.ServeHTTP(w, r); w.Code != 400 {
		t.Errorf("one id in the address and one in the body = %d %s, want 400", w.Code, w.Body)
	}
	for path, want := range map[string]string{"/api/segment/get/order": "1", "/api/snowflake/get/a": "11"} {
		if w := get(h, path); w.Body.String() != want {
			t.Errorf("GET %s = %s, want %s: a refusal uses no id up", path, w.Body, want)
		}
	}
	if n := len(m.Calls()); n != 0 {
		t.Errorf("the authority was asked %d times, want never", n)
	}
}
