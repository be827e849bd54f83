package stats_test

import (
	"slices"
	"testing"

	"github.com/uidring/uidring/bench/internal/stats"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name           string
		values         []float64
		median, lo, hi float64
		enough         bool
	}{
		{"none", nil, 0, 0, 0, false},
		{"one", []float64{7}, 7, 7, 7, false},
		{"three are too few for an interval", []float64{3, 1, 2}, 2, 1, 3, false},
		// Of ten values the second and the ninth bound the median with 97.9 percent.
		{"ten", []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}, 5.5, 2, 9, true},
		{"ten with an outlier", []float64{1, 1, 1, 1, 1, 1, 1, 1, 1, 1000}, 1, 1, 1, true},
	} {
		before := slices.Clone(tt.values)
		got := stats.Of(tt.values)
		if got.Median != tt.median || got.Lo != tt.lo || got.Hi != tt.hi || got.Enough != tt.enough || got.N != len(tt.values) {
			t.Errorf("%s: Of = %+v, want median %v in %v..%v, enough %v", tt.name, got, tt.median, tt.lo, tt.hi, tt.enough)
		}
		if !slices.Equal(before, tt.values) {
			t.Errorf("%s: Of changed its argument to %v", tt.name, tt.values)
		}
	}
}

func TestSummaryText(t *testing.T) {
	t.Parallel()
	s := stats.Of([]float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1})
	if got, want := s.String(), "5.5 ± 64%"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
	if got := (stats.Summary{}).String(); got != "-" {
		t.Errorf("String of nothing = %q, want -", got)
	}
}

func TestDiffer(t *testing.T) {
	t.Parallel()
	low := []float64{1, 1.1, 1.2, 1.05, 1.15, 1.12}
	high := []float64{2, 2.1, 2.2, 2.05, 2.15, 2.12}
	mixed := []float64{1.01, 1.09, 1.19, 1.06, 1.14, 1.13}
	if !stats.Differ(low, high) {
		t.Error("Differ(low, high) = false, want true")
	}
	if stats.Differ(low, mixed) {
		t.Error("Differ of two samples of the same = true, want false")
	}
	if stats.Differ([]float64{1}, []float64{2}) {
		t.Error("Differ of single values = true, want false: chance cannot be ruled out")
	}
}
