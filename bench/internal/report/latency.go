package report

import (
	"fmt"
	"strings"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

// percentiles are the columns of a latency table.
func percentiles() []string {
	return []string{"p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "worst"}
}

// quantiles returns the median of each column over the rounds.
func quantiles(rounds []result.Quantiles) []float64 {
	columns := make([][]float64, len(percentiles()))
	for _, q := range rounds {
		for i, v := range []int64{q.P50, q.P90, q.P99, q.P999, q.P9999, q.P99999, q.Max} {
			columns[i] = append(columns[i], float64(v))
		}
	}
	out := make([]float64, len(columns))
	for i, c := range columns {
		out[i] = result.Median(c)
	}
	return out
}

// latencyAt returns a contender's row under a load; a row without rounds if there is none.
func (r *Report) latencyAt(name string, goroutines int, rate float64) result.LatencyRow {
	for _, row := range r.latency.Rows {
		if row.Contender == name && row.Goroutines == goroutines && row.Rate == rate {
			return row
		}
	}
	return result.LatencyRow{}
}

// Latency writes up each load: a table, and a chart of some of the rows.
func (r *Report) Latency() string {
	var b strings.Builder
	for rows := r.latency.Rows; len(rows) > 0; {
		first, n := rows[0], 0
		for n < len(rows) && rows[n].Goroutines == first.Goroutines && rows[n].Rate == first.Rate {
			n++
		}
		b.WriteString(r.latencyLoad(rows[:n]))
		rows = rows[n:]
	}
	return strings.TrimRight(b.String(), "\n")
}

func (r *Report) latencyLoad(rows []result.LatencyRow) string {
	first := rows[0]
	title, name := "Full load, "+goroutineText(first.Goroutines), "latency-full"
	if first.Rate > 0 {
		title, name = three(first.Rate)+" ids a second, from when each is due", "latency-paced"
	}
	g := grid{head: append([]string{"time of one id"}, percentiles()...)}
	var series []chart.Series
	for _, row := range rows {
		if row.Err != "" {
			g.add(row.Contender, row.Err)
			continue
		}
		cells := []string{row.Contender}
		s := chart.Series{Name: row.Contender, Dashed: row.Contender == suite.ClockAlone}
		for i, v := range quantiles(row.Rounds) {
			cells = append(cells, ns(v))
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, v)
		}
		g.add(cells...)
		switch row.Contender {
		case suite.ClockAlone, contender.OneLane, contender.ManyLanes, contender.DefaultWide,
			contender.WUID, "bwmarrin/snowflake", "google/uuid v7":
			series = append(series, s)
		}
	}
	text := "### " + title + "\n\n" + g.String() + "\n"
	if first.Goroutines > 1 {
		return text
	}
	axes := chart.Axes{X: "percentile", LogY: true, XLabels: percentiles(), YLabel: roundTime}
	return text + r.chart(name, title, chart.Lines("Time of one id. "+title, axes, series)) + "\n\n"
}

// roundTime labels a power of ten of nanoseconds: "100 ns", "1 µs", "10 s".
func roundTime(v float64) string {
	for _, u := range []struct {
		from float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v >= u.from {
			return fmt.Sprintf("%.0f %s", v/u.from, u.name)
		}
	}
	return fmt.Sprintf("%.0f ns", v)
}
