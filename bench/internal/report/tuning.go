package report

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/stats"
)

// setting is a row with its median.
type setting struct {
	result.TuningRow
	ns float64
}

// tuning writes the section up.
func (r *Report) tuning(f result.File[result.TuningRow]) (string, error) {
	var list []setting
	for _, row := range f.Rows {
		if sum := stats.Of(row.NsPerID); sum.N > 0 && row.Err == "" {
			list = append(list, setting{row, sum.Median})
		}
	}
	if len(list) == 0 {
		return "No setting was measured.\n", nil
	}
	var b strings.Builder
	b.WriteString("Every combination of BoostPower, PaddingFactor, RunLength and Lanes on the default layout, with one goroutine per processor. " +
		"Throughput is from one measurement, p99.99 of a single `Next` from another (with two readings of the clock in it). " +
		"BoostPower 0 is `NoBoost`.\n\n")
	for _, many := range []bool{false, true} {
		part := slices.DeleteFunc(slices.Clone(list), func(s setting) bool { return (s.Lanes != 1) != many })
		if len(part) == 0 {
			continue
		}
		b.WriteString("**" + laneText(many) + ".** " + Recommend(part) + "\n\n")
	}
	for _, c := range []struct {
		name, title, x string
		log            bool
		key            func(setting) int
		keep           func(setting) bool
	}{
		{"tuning-run", "Run length, at BoostPower 3 and PaddingFactor 50", "RunLength", true,
			func(s setting) int { return s.RunLength }, func(s setting) bool { return s.BoostPower == 3 && s.PaddingFactor == 50 }},
		{"tuning-boost", "BoostPower, at PaddingFactor 50 and RunLength 512", "BoostPower", false,
			func(s setting) int { return s.BoostPower }, func(s setting) bool { return s.RunLength == 512 && s.PaddingFactor == 50 }},
	} {
		svg, err := tuningChart(list, c.title, c.x, c.log, c.key, c.keep)
		img, err := r.addChart(c.name, c.title, svg, err)
		if err != nil {
			return "", err
		}
		b.WriteString(img + "\n")
	}
	b.WriteString("<details><summary>All settings</summary>\n\n" + tuningTable(list) + "\n</details>\n")
	return b.String(), nil
}

func laneText(many bool) string {
	if many {
		return "Many lanes"
	}
	return "One lane"
}

// Recommend says in words what to pick from the settings: of all that are within five percent of the fastest and have a
// p99.99 of at most twice the lowest of those, the one that takes the least memory.
func Recommend(list []setting) string {
	best := slices.MinFunc(list, func(a, b setting) int { return compare(a.ns, b.ns) })
	worst := slices.MaxFunc(list, func(a, b setting) int { return compare(a.ns, b.ns) })
	near := slices.DeleteFunc(slices.Clone(list), func(s setting) bool { return s.ns > 1.05*best.ns })
	calmest := slices.MinFunc(near, func(a, b setting) int { return compare(float64(a.P9999), float64(b.P9999)) })
	calm := slices.DeleteFunc(slices.Clone(near), func(s setting) bool { return s.P9999 > 2*calmest.P9999 })
	choice := slices.MinFunc(calm, func(a, b setting) int {
		return compare(float64(a.HeapBytes), float64(b.HeapBytes))
	})
	return fmt.Sprintf("From %s to %s per id over %d settings. %d of them are within 5 percent of the fastest. "+
		"Of those, with a p99.99 of at most twice the lowest (%s), the smallest is BoostPower %d, PaddingFactor %d, RunLength %d: "+
		"%s per id, p99.99 %s, %s. The fastest is BoostPower %d, PaddingFactor %d, RunLength %d with %s per id in %s.",
		ns(best.ns), ns(worst.ns), len(list), len(near), ns(float64(calmest.P9999)),
		choice.BoostPower, choice.PaddingFactor, choice.RunLength, ns(choice.ns), ns(float64(choice.P9999)), bytesText(choice.HeapBytes),
		best.BoostPower, best.PaddingFactor, best.RunLength, ns(best.ns), bytesText(best.HeapBytes))
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// tuningChart draws ids a second over one of the settings.
func tuningChart(list []setting, title, x string, log bool, key func(setting) int, keep func(setting) bool) ([]byte, error) {
	var series []chart.Series
	var xs []int
	for _, many := range []bool{false, true} {
		s := chart.Series{Name: laneText(many)}
		for _, v := range list {
			if keep(v) && (v.Lanes != 1) == many {
				s.X, s.Y = append(s.X, float64(key(v))), append(s.Y, 1e3/v.ns)
				xs = append(xs, key(v))
			}
		}
		if len(s.X) > 0 {
			series = append(series, s)
		}
	}
	slices.Sort(xs)
	var ticks []plot.Tick
	for _, v := range slices.Compact(xs) {
		ticks = append(ticks, plot.Tick{Value: float64(v), Label: fmt.Sprint(v)})
	}
	return chart.Lines(title, chart.Axes{X: x, Y: "million ids a second", LogX: log, FromZero: true, XTicks: ticks}, series)
}

func tuningTable(list []setting) string {
	g := grid{head: []string{"lanes", "RunLength", "PaddingFactor", "BoostPower", "ns per id", "p99.99", "worst", "heap"}}
	for _, s := range list {
		lanes := fmt.Sprint(s.Lanes)
		if s.Lanes < 0 {
			lanes = "auto"
		}
		g.add(lanes, fmt.Sprint(s.RunLength), fmt.Sprint(s.PaddingFactor), fmt.Sprint(s.BoostPower), three(s.ns), ns(float64(s.P9999)),
			ns(float64(s.Max)), bytesText(s.HeapBytes))
	}
	return g.String()
}
