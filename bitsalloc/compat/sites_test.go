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

// mustSites returns the Sites of a layout that the test knows to have that many bits.
func mustSites(tb testing.TB, l bitsalloc.Layout, centerBits int) compat.Sites {
	tb.Helper()
	s, err := compat.NewSites(l, centerBits)
	if err != nil {
		tb.Fatalf("%v.Sites(%d): %v", l, centerBits, err)
	}
	return s
}

// Join numbers the pairs without gap or repetition, and Split is its inverse, whatever the
// division.
func TestSitesRoundTrip(t *testing.T) {
	t.Parallel()
	for centerBits := range 11 {
		s := mustSites(t, compat.Twitter(), centerBits)
		next := int64(0)
		for center := range int64(1) << centerBits {
			for worker := range int64(1024) >> centerBits {
				id, err := s.Join(center, worker)
				if err != nil || id != next {
					t.Fatalf("%d centre bits: Join(%d, %d) = %d, %v, want %d",
						centerBits, center, worker, id, err, next)
				}
				next++
				if c, w := s.Split(id); c != center || w != worker {
					t.Fatalf("%d centre bits: Split(%d) = %d, %d, want %d, %d", centerBits, id, c, w, center, worker)
				}
				if c, w := s.Split(id | 1<<40); c != center || w != worker {
					t.Fatalf("%d centre bits: Split(%d) = %d, %d, want the high bit ignored",
						centerBits, id|1<<40, c, w)
				}
			}
		}
	}
}

// The originals' range checks: worker and data centre are 0..31 each.
func TestSitesRange(t *testing.T) {
	t.Parallel()
	for _, l := range []bitsalloc.Layout{compat.Twitter(), compat.ShardGene()} {
		s := mustSites(t, l, 5)
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
			id, err := s.Join(tc.center, tc.worker)
			if tc.bad == "" {
				if err != nil || id != tc.want {
					t.Errorf("%v: Join(%d, %d) = %d, %v, want %d", l, tc.center, tc.worker, id, err, tc.want)
				}
				continue
			}
			if id != 0 || !errors.Is(err, bitsalloc.ErrRange) || !strings.HasSuffix(err.Error(), tc.bad) {
				t.Errorf("%v: Join(%d, %d) = %d, %v, want an ErrRange that ends in %q",
					l, tc.center, tc.worker, id, err, tc.bad)
			}
		}
	}
}

func TestSitesOfOtherLayouts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		s              compat.Sites
		center, worker int64 // the highest
	}{
		{mustSites(t, compat.Twitter().JavaScript(5), 2), 3, 7},
		{mustSites(t, bitsalloc.Layout{}, 6), 63, 65535},
	} {
		_, err := tt.s.Join(tt.center, tt.worker)
		_, center := tt.s.Join(tt.center+1, 0)
		_, worker := tt.s.Join(0, tt.worker+1)
		if err != nil || !errors.Is(center, bitsalloc.ErrRange) || !errors.Is(worker, bitsalloc.ErrRange) {
			t.Errorf("Join at %d and %d: %v, and above: %v, %v", tt.center, tt.worker, err, center, worker)
		}
	}
	s := mustSites(t, bitsalloc.Layout{TimeBits: 1, WorkerBits: 61, SeqBits: 1}, 61)
	if id, err := s.Join(1<<61-1, 0); err != nil || id != 1<<61-1 {
		t.Errorf("61 centre bits: Join(2^61-1, 0) = %d, %v, want 2^61-1", id, err)
	}
	for _, tc := range []struct {
		l    bitsalloc.Layout
		bits int
		want string
	}{
		{compat.Twitter(), 11, "data centre bits are 11, want 0..10"},
		{compat.Twitter(), -1, "data centre bits are -1, want 0..10"},
		{compat.Twitter(), math.MinInt, "want 0..10"},
		{bitsalloc.Layout{TimeBits: 63}, 1, "TimeBits is 63"},
	} {
		s, err := compat.NewSites(tc.l, tc.bits)
		if s != (compat.Sites{}) || !errors.Is(err, bitsalloc.ErrLayout) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v.Sites(%d) = %v, %v, want an ErrLayout that says %q", tc.l, tc.bits, s, err, tc.want)
		}
	}
	// The zero Sites is a field of no bits.
	if id, err := (compat.Sites{}).Join(0, 0); id != 0 || err != nil {
		t.Errorf("zero Sites: Join(0, 0) = %d, %v, want 0", id, err)
	}
	if _, err := (compat.Sites{}).Join(0, 1); !errors.Is(err, bitsalloc.ErrRange) {
		t.Errorf("zero Sites: Join(0, 1): %v, want ErrRange", err)
	}
}
