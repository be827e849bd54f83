package kubernetes

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// maxWait bounds how long an answer can keep requests back.
const maxWait = 30 * time.Second

// gate keeps requests back for as long as an overloaded server has asked for with Retry-After. Its
// methods are safe for concurrent use.
type gate struct {
	mu    sync.Mutex
	until time.Time
	why   error
}

// close keeps requests back if the answer to one says so.
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

// wait returns when requests may be made. Its error has what the server said and that of ctx.
func (g *gate) wait(ctx context.Context) error {
	g.mu.Lock()
	d, why := time.Until(g.until), g.why
	g.mu.Unlock()
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the API server asks for a pause of %v: %w", ctx.Err(),
			d.Round(time.Millisecond), why)
	}
}

// retryAfter reads the header's two forms: seconds, and a date.
func retryAfter(text string) time.Duration {
	if text == "" {
		return 0
	}
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(n)*time.Second, maxWait)
	}
	if t, err := http.ParseTime(text); err == nil {
		return min(time.Until(t), maxWait)
	}
	return 0
}

// date is the time that the last answer has told. Its methods are safe for concurrent use.
type date struct {
	mu    sync.Mutex
	value time.Time // zero: none yet
	at    time.Time // when it came, by the monotonic clock
}

func (d *date) note(h http.Header) {
	t, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.value, d.at = t, time.Now()
}

// now returns the server's time if an answer of the last second has told it.
func (d *date) now() (t time.Time, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	past := time.Since(d.at)
	return d.value.Add(past).UTC(), !d.value.IsZero() && past <= time.Second
}
