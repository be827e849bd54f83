package compat_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// mustNew returns the Allocator of a layout that the test knows to be valid.
func mustNew(tb testing.TB, l bitsalloc.Layout) *bitsalloc.Allocator {
	tb.Helper()
	a, err := bitsalloc.New(l)
	if err != nil {
		tb.Fatalf("New(%v): %v", l, err)
	}
	return a
}

// The originals' range checks: worker and data centre are 0..31 each.
func TestWorkerRange(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		center, worker, want int64
		bad                  string
	}{
		{0, 0, 0, ""},
		{31, 31, 1023, ""},
		{1, 0, 32, ""},
		{0, 32, 0, "worker is 32, want 0..31"},
		{0, -1, 0, "worker is -1, want 0..31"},
		{32, 0, 0, "data centre is 32, want 0..31"},
		{-1, 0, 0, "data centre is -1, want 0..31"},
		{math.MaxInt64, 0, 0, "data centre is 9223372036854775807, want 0..31"},
		{0, math.MinInt64, 0, "worker is -9223372036854775808, want 0..31"},
	} {
		id, err := compat.Worker(tc.center, tc.worker)
		if tc.bad == "" {
			if err != nil || id != tc.want || id>>5 != tc.center || id&31 != tc.worker {
				t.Errorf("Worker(%d, %d) = %d, %v, want %d", tc.center, tc.worker, id, err, tc.want)
			}
			continue
		}
		if id != 0 || !errors.Is(err, bitsalloc.ErrRange) || !strings.HasSuffix(err.Error(), tc.bad) {
			t.Errorf("Worker(%d, %d) = %d, %v, want an ErrRange that ends in %q",
				tc.center, tc.worker, id, err, tc.bad)
		}
	}
}
