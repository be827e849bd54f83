package backoff

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestJitter(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, 1, 2, 3, time.Second} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			got := Jitter(d)
			if got < d/2 || got > d {
				t.Fatalf("Jitter(%d) = %d", d, got)
			}
			seen[got] = true
		}
		if d == 3 && len(seen) != 2 || d == time.Second && len(seen) < 900 {
			t.Errorf("Jitter(%v) has %d values", d, len(seen))
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if !Wait(t.Context(), time.Minute) || time.Since(begin) != time.Minute {
			t.Errorf("Wait ended after %v", time.Since(begin))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin = time.Now()
		if Wait(ctx, time.Minute) || time.Since(begin) != time.Second {
			t.Errorf("Wait outlived its context by %v", time.Since(begin)-time.Second)
		}
	})
}
