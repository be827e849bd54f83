package service_test

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/service"
)

// TestParts: a route without its generator answers 404, and New fails without any generator.
func TestParts(t *testing.T) {
	t.Parallel()
	segments := newHandler(t, &service.HandlerOptions{Segment: newSegments(t, nil)})
	if w := get(segments, "/api/snowflake/get/x"); w.Code != 404 {
		t.Errorf("a time-ordered id without a generator = %d, want 404", w.Code)
	}
	w := get(segments, "/")
	page := w.Body.String()
	if w.Code != 200 || !strings.Contains(page, "No tag has been asked for yet") ||
		strings.Contains(page, "Time-ordered") {
		t.Errorf("the page without tags = %d %s", w.Code, page)
	}
	times := newHandler(t, &service.HandlerOptions{Snowflake: &snowflake{}})
	if w := get(times, "/api/segment/get/x"); w.Code != 404 {
		t.Errorf("an id of a tag without a generator = %d, want 404", w.Code)
	}
	if w := get(times, "/cache"); w.Code != 200 || strings.Contains(w.Body.String(), "Number segments") {
		t.Errorf("the page without segments = %d %s", w.Code, w.Body)
	}
	wide := &bitsalloc.Layout{TimeBits: 60, WorkerBits: 60, SeqBits: 60}
	for _, o := range []*service.HandlerOptions{
		nil, {}, {Snowflake: &snowflake{}, Timeout: -1}, {Snowflake: &snowflake{}, Layout: wide},
	} {
		if h, err := service.NewHandler(o); err == nil {
			t.Errorf("New(%+v) = %v, want an error", o, h)
		}
	}
}
