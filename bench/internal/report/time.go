package report

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/internal/human"
)

// TimeTable is the table of lag and lead.
func (r *Report) TimeTable() string {
	g := grid{head: []string{"generator", "layout", "ids a second", "worst lag", "worst lead"}}
	for _, row := range r.time.Rows {
		if row.Err != "" {
			g.add(row.Generator, row.Layout, row.Err)
			continue
		}
		g.add(row.Generator, row.Layout, human.Count(int64(row.Rate)),
			fmt.Sprintf("%.3f s", row.MaxLag), fmt.Sprintf("%.3f s", row.MaxLead))
	}
	return g.String()
}

// TimeChart draws how far the stamps of uid.Cached are ahead, for the rates that its layout
// sustains or for those that it does not.
func (r *Report) TimeChart(borrowed bool) string {
	name, title := "time", "Stamps of uid.Cached against the clock, within what its layout sustains"
	if borrowed {
		name, title = "time-borrowed", "Stamps of uid.Cached against the clock, above what its "+
			"layout sustains"
	}
	var series []chart.Series
	for _, row := range r.time.Rows {
		if !strings.HasPrefix(row.Generator, "uid.Cached") ||
			(row.MaxLead > 2*row.Bound) != borrowed {
			continue
		}
		s := chart.Series{Name: fmt.Sprintf("%s, %s ids a second",
			row.Layout, human.Count(int64(row.Rate)))}
		for _, p := range row.Points {
			s.X, s.Y = append(s.X, p.At), append(s.Y, p.Lead-p.Lag)
		}
		series = append(series, s)
	}
	axes := chart.Axes{X: "seconds since the start", Y: "seconds ahead; below zero: behind"}
	return r.chart(name, title, chart.Lines(title, axes, series))
}
