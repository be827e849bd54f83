package kubernetes

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/uidring/uidring/assigner/lease"
)

// TestAnswerError: which answers are refusals, may pass, or are conflicts of a write. Only a Status is
// the API server's own, and its message is cut.
func TestAnswerError(t *testing.T) {
	t.Parallel()
	const own, proxy = `{"kind":"Status","message":"why"}`, "<html>"
	for _, tt := range []struct {
		code               int
		body               string
		refused, temporary bool
		put, post          bool // is a conflict
	}{
		{code: http.StatusBadRequest, body: own, refused: true},
		{code: http.StatusForbidden, body: own, refused: true},
		{code: http.StatusNotFound, body: own, refused: true, put: true},
		{code: http.StatusNotFound, body: proxy, refused: true},
		{code: http.StatusRequestTimeout, body: own, temporary: true},
		{code: http.StatusConflict, body: own, put: true, post: true},
		{code: http.StatusTooManyRequests, body: own, temporary: true},
		{code: 499, body: proxy, refused: true},
		{code: http.StatusInternalServerError, body: own, temporary: true},
		{code: http.StatusServiceUnavailable, body: proxy, temporary: true},
	} {
		e := newAnswerError(tt.code, []byte(tt.body))
		if errors.Is(e, lease.ErrRefused) != tt.refused || e.temporary() != tt.temporary ||
			e.conflict(http.MethodPut) != tt.put || e.conflict(http.MethodPost) != tt.post {
			t.Errorf("%d %s: refused %v, temporary %v, conflict of PUT %v, of POST %v, want %+v", tt.code, tt.body,
				errors.Is(e, lease.ErrRefused), e.temporary(), e.conflict(http.MethodPut),
				e.conflict(http.MethodPost), tt)
		}
	}
	long := strings.Repeat("x", maxMessage)
	for body, want := range map[string]string{
		own:                                "404 Not Found: why",
		proxy:                              "404 Not Found",
		`{"kind":"Pod","message":"why"}`:   "404 Not Found",
		`{"message":"why","kind":"Status"`: "404 Not Found",
		`{"kind":"Status","message":1}`:    "404 Not Found",
		`{"kind":"Status","message":"` + long + `"}`:       "404 Not Found: " + long,
		`{"kind":"Status","message":"` + long[1:] + `üx"}`: "404 Not Found: " + long[1:] + "...",
	} {
		e := newAnswerError(http.StatusNotFound, []byte(body))
		if e.Error() != want || (e.kind != "") != strings.Contains(want, ":") {
			t.Errorf("%s: %q of kind %q, want %q", body, e, e.kind, want)
		}
	}
}
