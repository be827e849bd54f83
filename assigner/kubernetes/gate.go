package kubernetes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/uidring/uidring/internal/backoff"
)

// maxWait bounds how long an answer can hold requests back.
const maxWait = 30 * time.Second

// gate holds requests back for as long as an overloaded server has asked for with Retry-After. Its
// methods are safe for concurrent use.
type gate struct {
	mu    sync.Mutex
	until time.Time // guarded by mu: no request is made before
	why   error     // guarded by mu: the answer that asked for it
}

// close holds requests back if the answer with the header h asks for that. why is the answer.
func (g *gate) close(h http.Header, why error) {
	d := retryAfter(h.Get("Retry-After"))
	if d <= 0 {
		return
	}
	d += rand.N(d/4 + 1) // so that a fleet does not come back all at once
	g.mu.Lock()
	defer g.mu.Unlock()
	if until := time.Now().Add(d); until.After(g.until) {
		g.until, g.why = until, why
	}
}

// wait returns when requests may be made, or when ctx ends, with an error that wraps ctx's and the
// server's.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	d, why := time.Until(g.until), g.why
	g.mu.Unlock()
	if d <= 0 {
		return nil
	}
	if !backoff.Wait(ctx, d) {
		return fmt.Errorf("%w: the API server asks for a pause of %v: %w", ctx.Err(),
			d.Round(time.Millisecond), why)
	}
	return nil
}

// retryAfter returns the duration that a Retry-After header asks for, at most maxWait. It reads the
// header's two forms, seconds and a date. 0 or less: none.
func retryAfter(text string) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxWait)
	}
	t, _ := http.ParseTime(text) // neither: long ago
	return min(time.Until(t), maxWait)
}

// told is the server's time as an answer told it.
type told struct {
	date time.Time
	at   time.Time // when the answer arrived, by the monotonic clock
}

// noteDate keeps the Date of an answer that has just arrived.
func (s *store) noteDate(h http.Header) {
	if t, err := http.ParseTime(h.Get("Date")); err == nil {
		s.told.Store(&told{t, time.Now()})
	}
}

// now returns the server's time. ok reports whether an answer of the last second has told it.
func (s *store) now() (t time.Time, ok bool) {
	last := s.told.Load()
	if last == nil {
		return t, false
	}
	past := time.Since(last.at)
	return last.date.Add(past).UTC(), past <= time.Second
}
