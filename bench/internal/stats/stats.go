// Package stats summarises repeated measurements the way benchstat does: the median, and a confidence interval that assumes
// nothing about the distribution.
package stats

import (
	"fmt"
	"slices"

	"golang.org/x/perf/benchmath"
)

// Summary is what repeated measurements say.
type Summary struct {
	N      int
	Median float64
	Lo, Hi float64 // of the 95 percent confidence interval; the extremes when the samples are too few for one
	Enough bool    // whether the samples are enough for that interval
}

// Of summarises values, which it leaves as they are. No values make the zero Summary.
func Of(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	v := slices.Clone(values)
	t := benchmath.DefaultThresholds
	sum := benchmath.AssumeNothing.Summary(benchmath.NewSample(v, &t), 0.95)
	s := Summary{N: len(v), Median: sum.Center, Lo: sum.Lo, Hi: sum.Hi, Enough: len(sum.Warnings) == 0}
	if !s.Enough {
		s.Lo, s.Hi = slices.Min(v), slices.Max(v)
	}
	return s
}

// Spread returns half the width of the interval in percent of the median.
func (s Summary) Spread() float64 {
	if s.Median == 0 {
		return 0
	}
	return 100 * (s.Hi - s.Lo) / 2 / s.Median
}

// String returns text such as "12.3 ± 4%".
func (s Summary) String() string {
	if s.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.3g ± %.0f%%", s.Median, s.Spread())
}

// Differ reports whether a and b come from different distributions, by the Mann-Whitney U-test at 5 percent.
func Differ(a, b []float64) bool {
	t := benchmath.DefaultThresholds
	c := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), &t), benchmath.NewSample(slices.Clone(b), &t))
	return c.P <= t.CompareAlpha
}
