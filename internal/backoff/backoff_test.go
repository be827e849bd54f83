package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestJitter(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, 1, 2, 3, time.Second} {
		seen := map[time.Duration]bool{}
		for range 1000 {
			got := jitter(d)
			if got < d/2 || got > d {
				t.Fatalf("jitter(%d) = %d", d, got)
			}
			seen[got] = true
		}
		if d == 3 && len(seen) != 2 || d == time.Second && len(seen) < 900 {
			t.Errorf("jitter(%v) has %d values", d, len(seen))
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

var errAway, errFinal = errors.New("away"), errors.New("no such table")

// TestRetryPauses: the pauses double up to what the last try returned, each cut by up to half.
func TestRetryPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		most := []int{8, 8, 8, 3, 8} // seconds
		want := []int{2, 4, 8, 3, 3}
		n, last := 0, time.Now()
		err := Retry(t.Context(), 2*time.Second, func() (time.Duration, error) {
			if n > 0 {
				pause, bound := time.Since(last), time.Duration(want[n-1])*time.Second
				if pause < bound/2 || pause > bound {
					t.Errorf("pause %d is %v, want half of %v to all of it", n, pause, bound)
				}
			}
			last = time.Now()
			if n++; n > len(most) {
				return time.Second, nil
			}
			return time.Duration(most[n-1]) * time.Second, errAway
		})
		if err != nil || n != len(most)+1 {
			t.Errorf("Retry = %v after %d tries", err, n)
		}
	})
}

func TestRetryEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what   string
		errs   []error // of each try; nil ends ctx and returns its error
		final  bool    // the last one
		wants  []error
		avoids []error
	}{
		{"final", []error{errAway, errFinal}, true,
			[]error{errFinal}, []error{errAway, context.Canceled}},
		{"ended", []error{nil}, false, []error{context.Canceled}, []error{errAway}},
		{"ended later", []error{errAway, nil}, false, []error{context.Canceled, errAway}, nil},
		{"final when ctx ends", []error{nil}, true, []error{context.Canceled}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			n := 0
			err := Retry(ctx, time.Second, func() (time.Duration, error) {
				err := c.errs[n]
				n++
				if err == nil {
					cancel()
					err = ctx.Err()
				}
				if n == len(c.errs) && c.final {
					return 0, err
				}
				return time.Second, err
			})
			if c.what == "ended" && err != context.Canceled {
				t.Errorf("%v, want ctx's error alone", err)
			}
			for _, want := range c.wants {
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", c.what, err, want)
				}
			}
			for _, avoid := range c.avoids {
				if errors.Is(err, avoid) {
					t.Errorf("%s: %v has %v", c.what, err, avoid)
				}
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := Retry(ctx, 1, func() (time.Duration, error) { t.Error("tried"); return 0, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Retry = %v with a ctx that has ended", err)
	}
}
