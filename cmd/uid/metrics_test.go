package main

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// failing is a generator whose statistics hold a password.
type failing struct{ uid.Generator }

func (failing) Stats() uid.Stats {
	err := errors.New("no route to hunter2")
	return uid.Stats{Err: err, ExtendErr: err, Authority: "uid@hunter2"}
}

// brokenSource is a source that hands out one range, and whose errors hold a password.
type brokenSource struct{ fetches atomic.Int64 }

func (s *brokenSource) Fetch(context.Context, string, int64) (segment.Range, error) {
	if s.fetches.Add(1) == 1 {
		return segment.Range{From: 0, To: 2}, nil
	}
	return segment.Range{}, errors.New("no route to hunter2")
}

// TestDebugPage: the page shows errors as ErrorText formats them.
func TestDebugPage(t *testing.T) {
	t.Parallel()
	h, _, page := withMetrics(http.NotFoundHandler(), &service.HandlerOptions{
		Snowflake: failing{},
		ErrorText: func(err error) string { return strings.ReplaceAll(err.Error(), "hunter2", "nowhere") },
	}, &tokens{})
	defer page.Close()
	var none io.Closer
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w
	}
	body := get("/debug/uid").Body.String()
	if !strings.Contains(body, "no route to nowhere") || strings.Contains(body, "hunter2") {
		t.Errorf("the page is %s\nwant the reason without the password", body)
	}
	s := shown{failing{}, func(err error) string { return strings.ReplaceAll(err.Error(), "hunter2", "nowhere") }}
	if got := s.Stats().Authority; got != "uid@nowhere" {
		t.Errorf("the page gets the authority %q, want uid@nowhere", got)
	}
	if w := get("/debug"); w.Code != http.StatusNotFound {
		t.Errorf("/debug is %d, want the answer of the next handler", w.Code)
	}

	numbers, err := segment.New(t.Context(), &brokenSource{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer numbers.Close()
	h, _, none = withMetrics(http.NotFoundHandler(), &service.HandlerOptions{
		Segment:   numbers,
		ErrorText: func(err error) string { return strings.ReplaceAll(err.Error(), "hunter2", "nowhere") },
	}, &tokens{})
	defer none.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for err == nil {
		_, err = numbers.Next(ctx, "orders")
	}
	body = get("/debug/uid").Body.String()
	if !strings.Contains(body, ">orders\n") || !strings.Contains(body, "no route to nowhere") ||
		strings.Contains(body, "hunter2") {
		t.Errorf("the page is %s\nwant the tag and its reason without the password", body)
	}
}
