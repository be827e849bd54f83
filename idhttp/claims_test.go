package idhttp_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/idhttp"
)

// TestClaimsForgotten: an unused claim is forgotten an hour after its window's end, one that is in use
// is not, and one that was given back is forgotten at once.
func TestClaimsForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &assignertest.Memory{Length: 10 * time.Minute}
		h := newHandler(t, &idhttp.Options{Workers: m})
		claimed(t, h)
		used := claimed(t, h)
		for range 3 {
			time.Sleep(30 * time.Minute)
			w := send(h, "POST", "/api/worker/extend", `{`+used+`,"worker":1,"until":"2000-01-01T08:00:00Z"}`)
			if w.Code != 200 {
				t.Fatalf("extend = %d %s", w.Code, w.Body)
			}
		}
		given := claimed(t, h)
		if n := idhttp.Claims(h); n != 2 {
			t.Errorf("%d claims are remembered, want the one in use and the new one", n)
		}
		w := send(h, "POST", "/api/worker/release", `{`+given+`,"worker":7}`)
		if n := idhttp.Claims(h); w.Code != 200 || n != 2 {
			t.Errorf("releasing another worker id = %d %s and leaves %d claims, want 200 and 2", w.Code, w.Body, n)
		}
		w = send(h, "POST", "/api/worker/release", `{`+given+`,"worker":0}`)
		if n := idhttp.Claims(h); w.Code != 200 || n != 1 {
			t.Errorf("releasing = %d %s and leaves %d claims, want 200 and 1", w.Code, w.Body, n)
		}
	})
}

// TestClientGone: a claim whose client goes while it is made is given back.
func TestClientGone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	m := &assignertest.Memory{After: func(context.Context, assignertest.Call) error {
		cancel()
		return nil
	}}
	h := newHandler(t, &idhttp.Options{Workers: m})
	r := httptest.NewRequest(http.MethodPost, "/api/worker/assign", strings.NewReader(`{"max_worker":7,`+bound+`}`))
	h.ServeHTTP(httptest.NewRecorder(), r.WithContext(ctx))
	if n := len(m.Calls(assignertest.OpRelease)); n != 1 || idhttp.Claims(h) != 0 {
		t.Errorf("%d claims were given back and %d are remembered, want 1 and 0", n, idhttp.Claims(h))
	}
}

// TestUnbound: a claim without a layout would be one of any layout, so it is refused and nothing is
// claimed.
func TestUnbound(t *testing.T) {
	t.Parallel()
	m := &assignertest.Memory{}
	h := newHandler(t, &idhttp.Options{Workers: m})
	for _, body := range []string{`{"max_worker":7}`, `{"max_worker":7,"layout":""}`} {
		w := send(h, "POST", "/api/worker/assign", body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), `"bad_request"`) ||
			!strings.Contains(w.Body.String(), "layout is missing") {
			t.Errorf("assign with %s = %d %s, want 400, bad_request and the field's name", body, w.Code, w.Body)
		}
	}
	if n := len(m.Calls()); n != 0 {
		t.Errorf("the authority was asked %d times, want never", n)
	}
}
