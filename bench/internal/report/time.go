package report

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/result"
)

// time writes the section up.
func (r *Report) time(f result.File[result.TimeRow]) (string, error) {
	g := grid{head: []string{"generator", "layout", "ids/s offered", "ids/s made", "for", "worst lag", "worst lead"}}
	var near, far []chart.Series
	for _, row := range f.Rows {
		made := "-"
		if row.Seconds > 0 {
			made = perSecond(float64(row.IDs) / row.Seconds)
		}
		if row.Err != "" {
			made = row.Err
		}
		g.add(row.Generator, row.Layout, thousands(int64(row.Rate)), made, seconds(row.Seconds), fmt.Sprintf("%.3f s", row.MaxLag), leadText(row.MaxLead))
		if strings.HasPrefix(row.Generator, "uid.Cached") {
			s := chart.Series{Name: fmt.Sprintf("%s, %s ids/s", row.Layout, thousands(int64(row.Rate)))}
			for _, p := range row.Points {
				s.X, s.Y = append(s.X, p.At), append(s.Y, p.Lead-p.Lag)
			}
			if row.MaxLead > 2*row.Bound {
				far = append(far, s)
			} else {
				near = append(near, s)
			}
		}
	}
	var b strings.Builder
	for _, c := range []struct {
		name, title string
		series      []chart.Series
	}{
		{"time", "uid.Cached within its layout's ids a second: stamps against the clock", near},
		{"time-borrowed", "uid.Cached beyond its layout's ids a second: seconds borrowed", far},
	} {
		if len(c.series) == 0 {
			continue
		}
		svg, err := chart.Lines(c.title, chart.Axes{X: "seconds since the start", Y: "seconds ahead (below zero: behind)"}, c.series)
		img, err := r.addChart(c.name, c.title, svg, err)
		if err != nil {
			return "", err
		}
		b.WriteString("\n" + img)
	}
	return "An id's tick is compared with the wall clock just before and just after the call. Lag is how long the tick had been over before the " +
		"call began, lead how long until it begins when the call has returned. A generator that borrows leads by what was asked of it beyond its " +
		"layout's ids a second; on a layout that is wide enough it does not borrow. `MaxLead` bounds the lead where that matters.\n\n" +
		g.String() + b.String(), nil
}

func leadText(v float64) string {
	if v < 10 {
		return fmt.Sprintf("%.3f s", v)
	}
	return seconds(v)
}
