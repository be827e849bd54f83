package service_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// source is a segment.Source in memory.
type source struct {
	mu   sync.Mutex
	tags map[string]*tagRow
}

// tagRow is the counter of a tag. From until on, a fetch fails with err if that is set.
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

// fail makes the fetches of a tag fail with err, which may be nil.
func (s *source) fail(tag string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags[tag].err = err
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

// workers is the authority of Example's server.
var workers = &claimtest.Memory{}

// snowflake makes the ids after id, and fails with err.
type snowflake struct {
	uid.Generator // nil: other methods panic
	id            uid.ID
	err           error
	stats         uid.Stats
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

func (s *snowflake) Stats() uid.Stats { return s.stats }

func newHandler(tb testing.TB, o *service.HandlerOptions) http.Handler {
	tb.Helper()
	h, err := service.NewHandler(o)
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
