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

// What the original's README publishes for each of its three tables, in million ids a second: every value lies between.
const (
	publishedLow  = 6.1
	publishedHigh = 7.6
)

// original writes the section up.
func (r *Report) original(f result.File[result.OriginalRow]) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "Baidu's UidGenerator publishes three tables: ids a second over timeBits 25..32 with workerBits 20, over workerBits 20..29 with "+
		"timeBits 31, and over 1..8 consumers with 31-23-9. All of its figures lie between %.1f and %.1f million a second. Its RingBuffer has 8 "+
		"(boostPower 3) times the ids of a second, as has every row here. The first two sweeps run on one goroutine per processor. "+
		"`RunLength 1` is the original's design of one ring slot per id in this library's code.\n", publishedLow, publishedHigh)
	for _, s := range []struct{ sweep, title string }{
		{"timeBits", "timeBits 25..32, workerBits 20"}, {"workerBits", "workerBits 20..29, timeBits 31"}, {"consumers", "1..8 consumers, 31-23-9"},
	} {
		rows := slices.DeleteFunc(slices.Clone(f.Rows), func(x result.OriginalRow) bool { return x.Sweep != s.sweep })
		if len(rows) == 0 {
			continue
		}
		text, err := r.sweep(s.sweep, s.title, rows)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// sweep writes one of the tables up.
func (r *Report) sweep(sweep, title string, rows []result.OriginalRow) (string, error) {
	var xs []int
	var names []string
	at := map[string]map[int]result.OriginalRow{}
	for _, row := range rows {
		if !slices.Contains(xs, row.X) {
			xs = append(xs, row.X)
		}
		if at[row.Contender] == nil {
			at[row.Contender] = map[int]result.OriginalRow{}
			names = append(names, row.Contender)
		}
		at[row.Contender][row.X] = row
	}
	slices.Sort(xs)
	g := grid{head: []string{"million ids/s"}}
	layouts := []string{"layout"}
	for _, x := range xs {
		g.head = append(g.head, fmt.Sprint(x))
		layouts = append(layouts, at[names[0]][x].Layout)
	}
	if sweep != "consumers" {
		g.add(layouts...)
	}
	var series []chart.Series
	for _, n := range names {
		cells, line := []string{n}, chart.Series{Name: n}
		for _, x := range xs {
			sum := stats.Of(at[n][x].NsPerID)
			if sum.N == 0 {
				cells = append(cells, "-")
				continue
			}
			rate := 1e3 / sum.Median
			cells = append(cells, three(rate))
			line.X, line.Y = append(line.X, float64(x)), append(line.Y, rate)
		}
		g.add(cells...)
		series = append(series, line)
	}
	svg, err := chart.Lines(title, chart.Axes{X: sweep, Y: "million ids a second", FromZero: true, XTicks: wholeTicks(xs),
		Band: [2]float64{publishedLow, publishedHigh}, BandName: "published by the original, on its own machine"}, series)
	img, err := r.addChart("original-"+sweep, title, svg, err)
	return "\n### " + title + "\n\n" + g.String() + "\n" + img, err
}

// wholeTicks returns a tick per number.
func wholeTicks(xs []int) []plot.Tick {
	var out []plot.Tick
	for _, x := range xs {
		out = append(out, plot.Tick{Value: float64(x), Label: fmt.Sprint(x)})
	}
	return out
}
