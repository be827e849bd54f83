package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
	"github.com/uidring/uidring/internal/human"
)

// Table returns the first row of the table suite, for what all of them share.
func (r *Report) Table() result.TableRow {
	for _, row := range r.table.Rows {
		if row.Err == "" {
			return row
		}
	}
	return result.TableRow{}
}

// KeyTable is the table of what a primary key does to a table.
func (r *Report) KeyTable() string {
	g := grid{head: []string{"primary key", "type", "inserts a second", "clustered index",
		"secondary index", "page splits", "size"}}
	size := func(row result.TableRow) float64 { return float64(row.DataBytes + row.IndexBytes) }
	for _, row := range r.table.Rows {
		if row.Err != "" {
			g.add(row.Key, row.Type, row.Err)
			continue
		}
		g.add(row.Key, row.Type, three(float64(row.Rows)/row.Seconds), human.Bytes(row.DataBytes),
			human.Bytes(row.IndexBytes), human.Count(row.Splits),
			three(size(row)/size(r.Table()))+" ×")
	}
	return g.String()
}

// KeyChart draws the insert rates.
func (r *Report) KeyChart() string {
	var bars []chart.Bar
	for i, row := range r.table.Rows {
		if row.Err == "" {
			rate := float64(row.Rows) / row.Seconds / 1e3
			bars = append(bars, chart.Bar{
				Label: row.Key + " " + strings.TrimSuffix(row.Type, " AUTO_INCREMENT"),
				Value: rate, Text: three(rate), Color: chart.Palette([]int{0, 6}[min(i, 1)]),
			})
		}
	}
	const title = "Rows inserted by kind of primary key"
	return r.chart("table-rate", title, chart.Bars(title, "thousand rows a second", bars))
}

// Originals are the tables of the original's sweeps.
func (r *Report) Originals() string {
	var b strings.Builder
	for _, s := range []struct{ sweep, title string }{
		{suite.SweepTime, "timeBits, with workerBits 20"},
		{suite.SweepWorkers, "workerBits, with timeBits 31"},
		{suite.SweepConsumers, "consumers, 31-23-9"},
	} {
		g := grid{head: []string{s.title}}
		var names []string
		cells := map[string][]string{}
		for _, row := range r.origin.Rows {
			if row.Sweep != s.sweep {
				continue
			}
			if x := fmt.Sprint(row.X); !slices.Contains(g.head, x) {
				g.head = append(g.head, x)
			}
			if !slices.Contains(names, row.Contender) {
				names = append(names, row.Contender)
			}
			cells[row.Contender] = append(cells[row.Contender],
				three(1e3/result.Median(row.NsPerID)))
		}
		for _, name := range names {
			g.add(append([]string{name}, cells[name]...)...)
		}
		b.WriteString(g.String() + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
