package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/human"
)

// Procs returns the number of processors of the throughput suite.
func (r *Report) Procs() int {
	n := 1
	for _, row := range r.through.Rows {
		n = max(n, row.Procs)
	}
	return n
}

// at returns the row of a contender on so many processors and goroutines; a row without
// measurements if there is none.
func (r *Report) at(name string, procs, goroutines int) result.ThroughputRow {
	for _, row := range r.through.Rows {
		if row.Contender == name && row.Procs == procs && row.Goroutines == goroutines {
			return row
		}
	}
	return result.ThroughputRow{}
}

// Ns returns the median of wall nanoseconds per id.
func (r *Report) Ns(name string, procs, goroutines int) float64 {
	return result.Median(r.at(name, procs, goroutines).NsPerID)
}

// All is Ns with one goroutine on each processor.
func (r *Report) All(name string) float64 { return r.Ns(name, r.Procs(), r.Procs()) }

// ratio is what one contender costs in units of another, round by round.
type ratio struct{ median, p10 float64 }

func ratioOf(a, b []float64) ratio {
	v := result.Ratios(a, b)
	return ratio{result.Median(v), result.Quantile(v, 0.1)}
}

func (q ratio) String() string {
	if math.IsNaN(q.median) {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", three(q.median), three(q.p10))
}

// times returns what name costs in units of floor.
func (r *Report) times(name, floor string, procs, goroutines int) ratio {
	return ratioOf(r.at(name, procs, goroutines).NsPerID, r.at(floor, procs, goroutines).NsPerID)
}

// Times is the median of times.
func (r *Report) Times(name, floor string, procs, goroutines int) float64 {
	return r.times(name, floor, procs, goroutines).median
}

// cell returns nanoseconds per id with their mark.
func (r *Report) cell(x contender.Contender, procs, goroutines int) string {
	v := r.Ns(x.Name, procs, goroutines)
	if math.IsNaN(v) {
		return "-"
	}
	return strings.TrimSpace(three(v) + " " + x.Rate.Mark(1e9/v))
}

// ratios returns what x costs in units of the two adds. Where the layout is the limit, they say
// nothing.
func (r *Report) ratios(x contender.Contender, procs, goroutines int) []string {
	if x.Rate.Mark(1e9/r.Ns(x.Name, procs, goroutines)) == contender.AtRate {
		return []string{"-", "-"}
	}
	return []string{r.times(x.Name, contender.Add, procs, goroutines).String(),
		r.times(x.Name, contender.AddCalled, procs, goroutines).String()}
}

// sustained returns the ids a second that the layout has room for.
func sustained(x contender.Contender) string {
	switch {
	case x.Bits == 0:
		return ""
	case x.Rate.PerSecond == 0:
		return "no limit"
	}
	return human.Count(int64(math.Round(x.Rate.PerSecond)))
}

// byGroup adds a row for each contender that was measured, under the name of its group.
func (r *Report) byGroup(g *grid, groups []contender.Group,
	cells func(contender.Contender) []string) {
	for _, group := range groups {
		named := len(groups) == 1
		for _, x := range contender.All() {
			if x.Group != group || math.IsNaN(r.Ns(x.Name, 1, 1)) {
				continue
			}
			if !named {
				g.add("**" + string(group) + "**")
				named = true
			}
			g.add(append([]string{x.Name}, cells(x)...)...)
		}
	}
}

// single are the groups of contenders that make one id a call.
func single() []contender.Group {
	return []contender.Group{contender.Floor, contender.Own, contender.Peer, contender.Rival}
}

// OneGoroutine is the table of one goroutine, on one processor and on all.
func (r *Report) OneGoroutine() string {
	n := r.Procs()
	g := grid{head: []string{"ns per id", "1 processor", fmt.Sprintf("%d processors", n),
		"× add", "× called add", "sustained ids/s"}}
	r.byGroup(&g, single(), func(x contender.Contender) []string {
		return append(append([]string{r.cell(x, 1, 1), r.cell(x, n, 1)}, r.ratios(x, n, 1)...),
			sustained(x))
	})
	return g.String()
}

// AllProcessors is the table of one goroutine on each processor.
func (r *Report) AllProcessors() string {
	n := r.Procs()
	g := grid{head: []string{fmt.Sprintf("%d goroutines", n),
		"wall ns per id", "ns per call and processor", "ids a second", "× add", "× called add",
		"sustained ids/s", "allocs"}}
	r.byGroup(&g, single(), func(x contender.Contender) []string {
		wall := r.All(x.Name)
		cells := []string{r.cell(x, n, n), three(wall * float64(n)), perSecond(1e9 / wall)}
		cells = append(cells, r.ratios(x, n, n)...)
		return append(cells, sustained(x), three(r.at(x.Name, n, n).Allocs))
	})
	return g.String()
}

// Batches is the table of many ids a call.
func (r *Report) Batches() string {
	n := r.Procs()
	g := grid{head: []string{"ns per id", "1 processor",
		fmt.Sprintf("%d processors", n), "× store loop",
		fmt.Sprintf("%d goroutines, wall", n), "sustained ids/s"}}
	r.byGroup(&g, []contender.Group{contender.Batch}, func(x contender.Contender) []string {
		floor := contender.Store256
		if strings.HasSuffix(x.Name, "1,024") {
			floor = contender.Store1024
		}
		return []string{r.cell(x, 1, 1), r.cell(x, n, 1), r.times(x.Name, floor, n, 1).String(),
			r.cell(x, n, n), sustained(x)}
	})
	return g.String()
}

// groupColor is the colour of a group's bars.
func groupColor(x contender.Contender) string {
	switch {
	case x.Bits == 0:
		return chart.Palette(6)
	case x.Group == contender.Own:
		return chart.Palette(0)
	case x.Group == contender.Peer:
		return chart.Palette(1)
	}
	return chart.Palette(3)
}

// bars returns a bar for each of the contenders that was measured.
func (r *Report) bars(procs, goroutines int, names []string) []chart.Bar {
	var out []chart.Bar
	for _, name := range names {
		x, ok := contender.ByName(name)
		v := r.Ns(name, procs, goroutines)
		if !ok || math.IsNaN(v) {
			continue
		}
		mark := x.Rate.Mark(1e9 / v)
		text := strings.TrimSpace(three(1e3/v) + " " + mark)
		if mark == contender.OverRate {
			text += " sustains " + sustained(x) + " a second"
		}
		out = append(out, chart.Bar{Label: strings.TrimPrefix(name, "floor/"), Value: 1e3 / v,
			Text: text, Color: groupColor(x)})
	}
	return out
}

// BarChart draws ids a second of own generators and other libraries.
func (r *Report) BarChart(goroutines int) string {
	var names []string
	for _, x := range contender.All() {
		if x.Group == contender.Own || x.Group == contender.Peer || x.Name == contender.AddCalled {
			names = append(names, x.Name)
		}
	}
	title := "Ids a second, " + goroutineText(goroutines)
	return r.chart(fmt.Sprintf("throughput-%d", goroutines), title,
		chart.Bars(title, unit, r.bars(r.Procs(), goroutines, names)))
}

// unit is that of the charts of ids a second, with the marks.
const unit = "million ids a second; * the limit of its layout; † more than its layout can sustain"

// ScalingChart draws ids a second over processors; nothing with fewer than four.
func (r *Report) ScalingChart() string {
	var procs []int
	for _, row := range r.through.Rows {
		if row.Procs == row.Goroutines {
			procs = append(procs, row.Procs)
		}
	}
	slices.Sort(procs)
	if procs = slices.Compact(procs); len(procs) < 3 {
		return ""
	}
	var series []chart.Series
	for _, name := range []string{contender.ManyLanes, contender.OneLane, contender.AddOwn,
		contender.AddCalled, contender.DefaultWide, contender.WUID, "bwmarrin/snowflake"} {
		s := chart.Series{Name: name, Dashed: strings.HasPrefix(name, "floor/")}
		for _, p := range procs {
			if v := r.Ns(name, p, p); !math.IsNaN(v) {
				s.X, s.Y = append(s.X, float64(p)), append(s.Y, 1e3/v)
			}
		}
		series = append(series, s)
	}
	const title = "Ids a second by processors, one goroutine on each"
	axes := chart.Axes{X: "processors", Y: "million ids a second", FromZero: true}
	return r.chart("scaling", title, chart.Lines(title, axes, series))
}

// goroutineText names a number of goroutines.
func goroutineText(n int) string {
	if n == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
}
