package kubernetes

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var errBusy = errors.New("busy")

// header returns an answer's header with a Retry-After.
func header(after string) http.Header { return http.Header{"Retry-After": {after}} }

// TestRetryAfter: seconds and dates count, up to half a minute. What is neither asks for no pause.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for text, want := range map[string]time.Duration{
			"": 0, "0": 0, "1": time.Second, "30": maxWait, "31": maxWait, "2147483647": maxWait,
			"99999999999999999999": 0, "-5": 0, "soon": 0,
			at(7 * time.Second): 7 * time.Second, at(time.Hour): maxWait, at(-time.Hour): 0,
		} {
			if got := max(retryAfter(text), 0); got != want {
				t.Errorf("Retry-After %q: %v, want %v", text, got, want)
			}
		}
	})
}

// TestGate: the longest pause that was asked for holds, by up to a quarter longer, and an answer that
// asks for none changes nothing.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g gate
		for _, none := range []string{"", "0", "soon", time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)} {
			if g.close(header(none), errBusy); !g.until.IsZero() {
				t.Errorf("Retry-After %q: closed until %v, want no pause", none, g.until)
			}
		}
		soon := time.Now().Add(time.Second)
		time.Sleep(time.Second - 1)
		if g.close(header(soon.UTC().Format(http.TimeFormat)), errBusy); !g.until.Equal(soon) {
			t.Errorf("Retry-After in a nanosecond: closed until %v, want %v", g.until, soon)
		}
		begin := time.Now()
		g.close(header("20"), errBusy)
		g.close(header("1"), errors.New("less busy"))
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.wait(short); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, errBusy) {
			t.Errorf("wait that ctx ends: %v, want ctx's error and the answer", err)
		}
		if err := g.wait(t.Context()); err != nil {
			t.Error(err)
		}
		if d := time.Since(begin); d < 20*time.Second || d > 25*time.Second {
			t.Errorf("the pause took %v, want 20s to 25s", d)
		}
		for range 100 { // at the very end of the pause, and later, ctx does not matter
			if err := g.wait(short); err != nil {
				t.Fatalf("wait after the pause: %v", err)
			}
		}
	})
}

// TestGateContended: of answers that come at the same time the longest pause holds. The race detector
// sees whether the gate's lock is held.
func TestGateContended(t *testing.T) {
	t.Parallel()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		var g gate
		var wg sync.WaitGroup
		for _, after := range []string{"20", "1"} {
			wg.Go(func() { g.close(header(after), errBusy) })
		}
		wg.Go(func() { _ = g.wait(over) })
		wg.Wait()
		if d := time.Until(g.until); d < 10*time.Second {
			t.Fatalf("closed for %v, want 20s", d)
		}
	}
}
