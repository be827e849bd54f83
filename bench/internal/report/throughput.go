package report

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/stats"
)

// cell is one contender under one load.
type cell struct {
	row result.ThroughputRow
	sum stats.Summary // of nanoseconds per id
}

// perSecond returns ids a second; 0 without a measurement.
func (c cell) perSecond() float64 {
	if c.sum.Median == 0 {
		return 0
	}
	return 1e9 / c.sum.Median
}

// throughputs answers questions about the rows of the throughput suite.
type throughputs []result.ThroughputRow

// at returns the cell of a contender on so many processors and goroutines; ok is false if it was not measured.
func (t throughputs) at(name string, procs, goroutines int) (c cell, ok bool) {
	for _, r := range t {
		if r.Contender == name && r.Procs == procs && r.Goroutines == goroutines {
			return cell{r, stats.Of(r.NsPerID)}, len(r.NsPerID) > 0
		}
	}
	return cell{}, false
}

// procs returns the numbers of processors, ascending.
func (t throughputs) procs() []int {
	var out []int
	for _, r := range t {
		out = append(out, r.Procs)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// loads returns the pairs of processors and goroutines in the order of the rows.
func (t throughputs) loads() [][2]int {
	var out [][2]int
	for _, r := range t {
		if l := [2]int{r.Procs, r.Goroutines}; !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

// groupColor is the colour of a group in every chart.
func groupColor(g contender.Group) color.Color {
	switch g {
	case contender.Own:
		return chart.Palette(0)
	case contender.Peer:
		return chart.Palette(1)
	case contender.Rival:
		return chart.Palette(3)
	}
	return chart.Palette(6)
}

// throughput writes the section up.
func (r *Report) throughput(f result.File[result.ThroughputRow]) (string, error) {
	t := throughputs(f.Rows)
	var b strings.Builder
	b.WriteString("Wall nanoseconds per id, all goroutines together. The ceiling is what the id's layout has room for in the long run: " +
		"a row that sits at its ceiling shows its layout, not its code. " +
		"`allocs` is per id.\n\n")
	g := grid{head: []string{"contender", "bits", "ceiling"}}
	for _, l := range t.loads() {
		g.head = append(g.head, loadText(l))
	}
	g.head = append(g.head, "ids/s, "+loadText(last(t.loads())), "allocs", "module")
	for _, x := range contender.All() {
		if cells := throughputCells(t, x, f.Meta); cells != nil {
			g.add(cells...)
		}
	}
	b.WriteString(g.String())
	b.WriteString("\n" + ceilingNote(t) + notes() + "\n")

	procs := t.procs()
	for _, p := range slices.Compact([]int{procs[0], last(procs)}) {
		text := fmt.Sprintf("Ids a second, %s", loadText([2]int{p, p}))
		svg, err := chart.Bars(text, "million ids a second", bars(t, p, inThroughputChart))
		img, err := r.addChart(fmt.Sprintf("throughput-%d", p), text, svg, err)
		if err != nil {
			return "", err
		}
		b.WriteString(img + "\n")
	}
	rivals, err := r.rivals(t)
	if err != nil {
		return "", err
	}
	b.WriteString(rivals)
	if len(procs) > 1 {
		img, err := r.scaling(t)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + img)
	}
	return b.String(), nil
}

// inThroughputChart leaves out the floors but one, the rivals, which have a chart of their own, and Fill: a call for many ids
// at once has a bar that leaves the others no room.
func inThroughputChart(x contender.Contender) bool {
	switch x.Name {
	case contender.CachedFill, contender.CachedManyFill:
		return false
	case contender.AtomicAdd:
		return true
	}
	return x.Group == contender.Own || x.Group == contender.Peer
}

// throughputCells returns x's row of the table, nil if it was not measured.
func throughputCells(t throughputs, x contender.Contender, m result.Meta) []string {
	bits := "-"
	if x.Bits > 0 {
		bits = fmt.Sprint(x.Bits)
	}
	cells := []string{x.Name, bits, x.Ceiling.String()}
	any := false
	var c cell
	for _, l := range t.loads() {
		var ok bool
		c, ok = t.at(x.Name, l[0], l[1])
		any = any || ok
		switch {
		case ok && x.Ceiling.Hard() && x.Ceiling.Binds(c.perSecond()):
			cells = append(cells, three(c.sum.Median)+" (ceiling)")
		case ok:
			cells = append(cells, fmt.Sprintf("%s ± %.0f%%", three(c.sum.Median), c.sum.Spread()))
		default:
			cells = append(cells, "-")
		}
	}
	if !any {
		return nil
	}
	module := ""
	if x.Module != "" {
		module = strings.TrimPrefix(x.Module, "github.com/") + " " + m.Modules[x.Module]
	}
	rate := "-"
	if c.sum.N > 0 {
		rate = perSecond(c.perSecond())
	}
	return append(cells, rate, three(c.row.Allocs), module)
}

// bars returns the chart's bars on p processors.
func bars(t throughputs, p int, want func(contender.Contender) bool) []chart.Bar {
	var out []chart.Bar
	for _, x := range contender.All() {
		c, ok := t.at(x.Name, p, p)
		if !ok || !want(x) {
			continue
		}
		text := three(c.perSecond() / 1e6)
		if x.Ceiling.Hard() && x.Ceiling.Binds(c.perSecond()) {
			text += "  (its layout's ceiling)"
		} else if x.Ceiling.At == contender.Drifts && c.perSecond() > x.Ceiling.PerSecond {
			text += "  (a burst above its ceiling)"
		} else if !x.Time && x.Bits == 63 {
			text += "  (no time in its ids)"
		}
		out = append(out, chart.Bar{Label: x.Name, Value: c.perSecond() / 1e6, Text: text, Color: groupColor(x.Group),
			Lo: 1e3 / c.sum.Hi, Hi: 1e3 / c.sum.Lo})
	}
	return out
}

// rivals writes up the designs that were not chosen.
func (r *Report) rivals(t throughputs) (string, error) {
	p := last(t.procs())
	list := bars(t, p, func(x contender.Contender) bool {
		return x.Group == contender.Rival || x.Name == contender.CachedOneLane || x.Name == contender.CachedManyLanes || x.Name == contender.CachedOriginal
	})
	if !slices.ContainsFunc(list, func(b chart.Bar) bool { return strings.HasPrefix(b.Label, "rival/") }) {
		return "", nil
	}
	svg, err := chart.Bars(fmt.Sprintf("uid.Cached and the designs it was chosen over, %s", loadText([2]int{p, p})), "million ids a second", list)
	img, err := r.addChart("rivals", "Rival designs", svg, err)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("### The designs that were not chosen\n\nWhat each would have to give up stands in its file in [`bench/rivals`](../bench/rivals).\n\n" + img + "\n")
	for _, l := range t.loads() {
		b.WriteString(rivalSentence(t, l))
	}
	return b.String(), nil
}

// rivalSentence says which rivals are faster than the library's own under one load, beyond chance.
func rivalSentence(t throughputs, l [2]int) string {
	one, ok1 := t.at(contender.CachedOneLane, l[0], l[1])
	many, ok2 := t.at(contender.CachedManyLanes, l[0], l[1])
	if !ok1 || !ok2 {
		return ""
	}
	var faster []string
	for _, x := range contender.All() {
		c, ok := t.at(x.Name, l[0], l[1])
		if x.Group != contender.Rival || !ok {
			continue
		}
		for _, own := range []cell{one, many} {
			if c.sum.Median < own.sum.Median && stats.Differ(c.row.NsPerID, own.row.NsPerID) {
				faster = append(faster, fmt.Sprintf("%s beats %s (%s against %s)", x.Name, own.row.Contender, ns(c.sum.Median), ns(own.sum.Median)))
			}
		}
	}
	if len(faster) == 0 {
		return fmt.Sprintf("- %s: no rival is faster than uid.Cached, with one lane or with many.\n", loadText(l))
	}
	return fmt.Sprintf("- %s: %s.\n", loadText(l), strings.Join(faster, "; "))
}

// scaling draws ids a second over processors.
func (r *Report) scaling(t throughputs) (string, error) {
	var series []chart.Series
	for _, name := range []string{contender.CachedManyLanes, contender.CachedOneLane, contender.AtomicAdd, contender.AtomicAddOwn,
		contender.DefaultWide, contender.WUID, "bwmarrin/snowflake"} {
		s := chart.Series{Name: name, Dashed: strings.HasPrefix(name, "floor/")}
		for _, p := range t.procs() {
			if c, ok := t.at(name, p, p); ok {
				s.X, s.Y = append(s.X, float64(p)), append(s.Y, c.perSecond()/1e6)
			}
		}
		if len(s.X) > 0 {
			series = append(series, s)
		}
	}
	svg, err := chart.Lines("Ids a second by processors, one goroutine each",
		chart.Axes{X: "processors", Y: "million ids a second", FromZero: true, XTicks: wholeTicks(t.procs())}, series)
	return r.addChart("scaling", "Scaling", svg, err)
}

// ceilingNote names the contenders that measured faster than their layout permits in the long run.
func ceilingNote(t throughputs) string {
	var over []string
	for _, x := range contender.All() {
		for _, l := range t.loads() {
			c, ok := t.at(x.Name, l[0], l[1])
			if ok && x.Group == contender.Peer && x.Ceiling.PerSecond > 0 && c.perSecond() > 1.02*x.Ceiling.PerSecond {
				over = append(over, fmt.Sprintf("%s (%s)", x.Name, x.Ceiling.At))
				break
			}
		}
	}
	if len(over) == 0 {
		return ""
	}
	return "Above their ceilings, for as long as the measurement was: " + strings.Join(over, ", ") + ".\n\n"
}

// notes lists what must be known to read a row.
func notes() string {
	var b strings.Builder
	for _, x := range contender.All() {
		if x.Note != "" {
			fmt.Fprintf(&b, "- `%s`: %s.\n", x.Name, x.Note)
		}
	}
	return b.String()
}

// loadText names a load: "1 goroutine", "16 goroutines on 2 processors".
func loadText(l [2]int) string {
	switch {
	case l[1] == 1:
		return "1 goroutine"
	case l[0] == l[1]:
		return fmt.Sprintf("%d goroutines", l[1])
	}
	return fmt.Sprintf("%d on %d", l[1], l[0])
}

func last[T any](s []T) T { return s[len(s)-1] }
