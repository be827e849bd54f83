package result

import (
	"math"
	"slices"
)

// Quantile returns the q-quantile of values, between the two nearest of them; NaN without values.
// It leaves values as they are.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	v := slices.Sorted(slices.Values(values))
	at := q * float64(len(v)-1)
	i := int(at)
	if i+1 == len(v) {
		return v[i]
	}
	return v[i] + (at-float64(i))*(v[i+1]-v[i])
}

// Median returns the median of values.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Pairs returns what f makes of a and b, round by round, for the rounds that both have.
func Pairs(a, b []float64, f func(a, b float64) float64) []float64 {
	out := make([]float64, min(len(a), len(b)))
	for i := range out {
		out[i] = f(a[i], b[i])
	}
	return out
}

// Ratio is a/b, for Pairs.
func Ratio(a, b float64) float64 { return a / b }
