package result_test

import (
	"math"
	"slices"
	"testing"

	"github.com/uidring/uidring/bench/internal/result"
)

func TestQuantile(t *testing.T) {
	t.Parallel()
	values := []float64{5, 1, 4, 2, 3}
	for _, tt := range []struct{ q, want float64 }{{0, 1}, {0.1, 1.4}, {0.5, 3}, {1, 5}} {
		if got := result.Quantile(values, tt.q); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("Quantile(%v) = %v, want %v", tt.q, got, tt.want)
		}
	}
	if !slices.Equal(values, []float64{5, 1, 4, 2, 3}) {
		t.Error("Quantile changes its values")
	}
	if got := result.Median([]float64{1, 2, 10, 11}); got != 6 {
		t.Errorf("Median = %v, want 6", got)
	}
	if !math.IsNaN(result.Median(nil)) {
		t.Error("Median(nil) is a number")
	}
}

// A ratio is taken between measurements of one round.
func TestPairs(t *testing.T) {
	t.Parallel()
	if got := result.Pairs([]float64{10, 30}, []float64{5, 10}, result.Ratio); !slices.Equal(got, []float64{2, 3}) {
		t.Errorf("ratios = %v, want [2 3]", got)
	}
	if got := result.Pairs([]float64{10}, []float64{5, 1}, result.Ratio); !slices.Equal(got, []float64{2}) {
		t.Errorf("ratios = %v, want that of the round that both have", got)
	}
}
