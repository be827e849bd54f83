package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contender"
)

// inReadme are the rows of the README's chart and table. Of this library they have the layout that
// borrows nothing: a rate beyond what a layout sustains needs an explanation, which the page has.
func inReadme() []string {
	return []string{
		contender.OneLaneWide, contender.DefaultWide, contender.AddCalled, contender.WUID,
		"bwmarrin/snowflake",
		"sony/sonyflake",
		"sony/sonyflake 15-bit seq, 1 ms", "yitter/idgenerator-go",
		"yitter/idgenerator-go 10-bit seq",
		"rs/xid", "google/uuid v7", "uuid v7 (Go's own)", "google/uuid v4",
	}
}

// ReadmeTable is the README's table. Its figures are of one goroutine and of one on each processor.
func (r *Report) ReadmeTable() string {
	n := r.Procs()
	g := grid{head: []string{"", "1 goroutine", fmt.Sprintf("%d goroutines", n), "ids/s",
		"sustained ids/s", "bits", "by time"}}
	for _, name := range inReadme() {
		x, ok := contender.ByName(name)
		if wall := r.All(name); ok && !math.IsNaN(wall) {
			g.add(readmeName(x), r.marked(x, n, 1), r.marked(x, n, n),
				strings.TrimSuffix(perSecond(1e9/wall), "/s"), sustained(x), bits(x), byTime(x))
		}
	}
	return g.String()
}

// ReadmeChart draws ids a second with one goroutine on each processor. Fill has no bar: it would
// leave the others no room.
func (r *Report) ReadmeChart() string {
	n := r.Procs()
	svg := chart.Bars("Ids a second, "+goroutineText(n), unit, r.bars(n, n, inReadme()))
	r.chart("readme", "", svg)
	return "docs/charts/readme.svg"
}

// marked is a cell with its unit.
func (r *Report) marked(x contender.Contender, procs, goroutines int) string {
	v := r.Ns(x.Name, procs, goroutines)
	return strings.TrimSpace(ns(v) + " " + x.Rate.Mark(1e9/v))
}

func readmeName(x contender.Contender) string {
	switch {
	case x.Name == contender.AddCalled:
		return "*a function that adds one*"
	case strings.HasPrefix(x.Name, "uid."):
		return "**" + x.Name + "**"
	}
	return x.Name
}

func bits(x contender.Contender) string {
	if x.Bits == 0 {
		return ""
	}
	return fmt.Sprint(x.Bits)
}

func byTime(x contender.Contender) string {
	if x.Time {
		return "✓"
	}
	return ""
}
