package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/human"
)

// laneText names a number of lanes as in uid.Options.
func laneText(lanes int) string {
	if lanes == 1 {
		return "one lane"
	}
	return "many lanes"
}

// TuningTable is the table of run lengths, with BoostPower and PaddingFactor at their defaults.
func (r *Report) TuningTable() string {
	g := grid{head: []string{"lanes", "RunLength", "one goroutine", "all processors",
		"p99.99", "heap",
		""}}
	for _, row := range r.tuning.Rows {
		if row.BoostPower != 3 || row.PaddingFactor != 50 || row.Err != "" {
			continue
		}
		mark := ""
		if row.Default {
			mark = "default"
		}
		g.add(laneText(row.Lanes), fmt.Sprint(row.RunLength), ns(result.Median(row.One)),
			ns(result.Median(row.All)), ns(float64(row.P9999)), human.Bytes(row.HeapBytes), mark)
	}
	return g.String()
}

// Tuned compares the default with all settings of its number of lanes, under one load.
type Tuned struct {
	Load, Default, Fastest string
	Ratio                  float64 // what the default costs in units of the fastest
	Settings, Faster       int     // how many there are, and are more than 5 percent faster
}

// Tunings returns a Tuned for one lane and for many, on one goroutine and on all processors.
func (r *Report) Tunings() []Tuned {
	var out []Tuned
	for _, lanes := range []int{1, -1} {
		rows := slices.DeleteFunc(slices.Clone(r.tuning.Rows), func(row result.TuningRow) bool {
			return row.Lanes != lanes || row.Err != ""
		})
		i := slices.IndexFunc(rows, func(row result.TuningRow) bool { return row.Default })
		if i < 0 {
			continue
		}
		for _, load := range []struct {
			name string
			ns   func(result.TuningRow) float64
		}{
			{"one goroutine", func(row result.TuningRow) float64 { return result.Median(row.One) }},
			{"all processors", func(row result.TuningRow) float64 {
				return result.Median(row.All)
			}},
		} {
			own := load.ns(rows[i])
			best := slices.MinFunc(rows, func(a, b result.TuningRow) int {
				return cmp.Compare(load.ns(a), load.ns(b))
			})
			t := Tuned{Load: laneText(lanes) + ", " + load.name, Default: settingText(rows[i]),
				Fastest: settingText(best), Ratio: own / load.ns(best), Settings: len(rows)}
			for _, row := range rows {
				if load.ns(row) < 0.95*own {
					t.Faster++
				}
			}
			out = append(out, t)
		}
	}
	return out
}

func settingText(row result.TuningRow) string {
	return fmt.Sprintf("BoostPower %d, PaddingFactor %d, RunLength %d",
		row.BoostPower, row.PaddingFactor, row.RunLength)
}

// TuningChart draws the cost of an id over run lengths, but for 1, which leaves the others no room.
func (r *Report) TuningChart() string {
	var series []chart.Series
	var labels []string
	for _, lanes := range []int{1, -1} {
		one := chart.Series{Name: laneText(lanes) + ", one goroutine"}
		all := chart.Series{Name: laneText(lanes) + ", all processors", Dashed: true}
		labels = nil
		for _, row := range r.tuning.Rows {
			if row.Lanes != lanes || row.BoostPower != 3 || row.PaddingFactor != 50 ||
				row.RunLength == 1 ||
				row.Err != "" {
				continue
			}
			x := float64(len(labels))
			labels = append(labels, fmt.Sprint(row.RunLength))
			one.X, one.Y = append(one.X, x), append(one.Y, result.Median(row.One))
			all.X, all.Y = append(all.X, x), append(all.Y, result.Median(row.All))
		}
		series = append(series, one, all)
	}
	const title = "Cost of an id by run length"
	axes := chart.Axes{X: "RunLength", Y: "wall nanoseconds per id",
		XLabels: labels, FromZero: true}
	return r.chart("tuning-run", title, chart.Lines(title, axes, series))
}
