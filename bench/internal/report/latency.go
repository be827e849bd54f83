package report

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
)

// percentiles are the columns of every latency table.
func percentiles() []string {
	return []string{"p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "worst"}
}

// values returns q's columns.
func values(q result.Quantiles) []int64 {
	return []int64{q.P50, q.P90, q.P99, q.P999, q.P9999, q.P99999, q.Max}
}

// percentileTicks places the columns on an axis by the number of nines.
func percentileTicks() []plot.Tick {
	var out []plot.Tick
	for i, p := range percentiles() {
		out = append(out, plot.Tick{Value: float64(i), Label: p})
	}
	return out
}

// latencyTable returns a table of the rows; response picks that distribution in place of the service time.
func latencyTable(rows []result.LatencyRow, response bool) string {
	g := grid{head: append([]string{"contender"}, percentiles()...)}
	var why []string
	for _, r := range rows {
		cells := []string{r.Contender}
		q, ok := pickQuantiles(r, response)
		if !ok {
			g.add(append(cells, "-", "-", "-", "-", "-", "-", "-")...)
			why = append(why, fmt.Sprintf("`%s`: %s", r.Contender, r.Err))
			continue
		}
		for _, v := range values(q) {
			cells = append(cells, ns(float64(v)))
		}
		g.add(cells...)
	}
	if len(why) == 0 {
		return g.String()
	}
	return g.String() + "\nNot measured: " + strings.Join(why, "; ") + ".\n"
}

func pickQuantiles(r result.LatencyRow, response bool) (result.Quantiles, bool) {
	if r.Err != "" || r.IDs == 0 {
		return result.Quantiles{}, false
	}
	if response && r.Response != nil {
		return *r.Response, true
	}
	return r.Service, true
}

// latencyChart draws the distributions of some of the rows.
func latencyChart(title string, rows []result.LatencyRow, response bool, names ...string) ([]byte, error) {
	var series []chart.Series
	for _, r := range rows {
		q, ok := pickQuantiles(r, response)
		if !ok || !slices.Contains(names, r.Contender) {
			continue
		}
		s := chart.Series{Name: r.Contender, Dashed: strings.HasPrefix(r.Contender, "the two")}
		for i, v := range values(q) {
			s.X, s.Y = append(s.X, float64(i)), append(s.Y, float64(v))
		}
		series = append(series, s)
	}
	return chart.Lines(title, chart.Axes{X: "percentile", LogY: true, XTicks: percentileTicks(), YLabel: roundTime}, series)
}

// inChart are the contenders that the latency charts show; the tables have all.
func inChart() []string {
	return []string{"the two clock readings alone", contender.CachedOneLane, contender.CachedManyLanes, contender.DefaultWide,
		contender.DefaultNarrow, "bwmarrin/snowflake", contender.WUID, "google/uuid v7"}
}

// offered writes the section up.
func (r *Report) offered(f result.File[result.LatencyRow]) (string, error) {
	svg, err := latencyChart("Latency of one id at 100,000 ids a second, from when it was due", f.Rows, true, inChart()...)
	img, err := r.addChart("offered", "Latency at 100,000 ids a second", svg, err)
	if err != nil {
		return "", err
	}
	return "One goroutine is offered 100,000 ids a second, evenly spaced, whatever the contender: a rate below the ceiling of all but the " +
		"narrowest layouts. The time runs from when the id was due, so that an id that had to wait because an earlier one was late counts as " +
		"late (no coordinated omission). The first row is the cost of reading the clock, which every other row contains, and the tail that the " +
		"machine itself makes.\n\n" + latencyTable(f.Rows, true) + "\n" + img, nil
}

// latency writes the section up.
func (r *Report) latency(f result.File[result.LatencyRow]) (string, error) {
	var b strings.Builder
	b.WriteString("The distribution of a single `Next`, in an HDR histogram. Two readings of the clock surround each call and are in every " +
		"figure; the first row of each table is those two readings with nothing between them. " +
		"On more goroutines than processors the tail is the scheduler's: a goroutine that loses its processor between the two readings " +
		"waits for its turn.\n")
	seen := map[string]bool{}
	for _, first := range f.Rows {
		key := loadKey(first)
		if seen[key] {
			continue
		}
		seen[key] = true
		rows := slices.DeleteFunc(slices.Clone(f.Rows), func(x result.LatencyRow) bool { return loadKey(x) != key })
		text := fmt.Sprintf("Full load, %s", goroutineText(first.Goroutines))
		name := fmt.Sprintf("latency-full-%d", first.Goroutines)
		if first.Rate > 0 {
			text = fmt.Sprintf("%s ids a second over %s, from when each was due", thousands(int64(first.Rate)), goroutineText(first.Goroutines))
			name = fmt.Sprintf("latency-paced-%d", first.Goroutines)
		}
		svg, err := latencyChart(text, rows, first.Rate > 0, inChart()...)
		img, err := r.addChart(name, text, svg, err)
		if err != nil {
			return "", err
		}
		b.WriteString("\n### " + text + "\n\n" + latencyTable(rows, first.Rate > 0) + "\n" + img)
	}
	return b.String(), nil
}

func loadKey(r result.LatencyRow) string { return fmt.Sprint(r.Goroutines, r.Rate) }

func goroutineText(n int) string {
	if n == 1 {
		return "one goroutine"
	}
	return fmt.Sprintf("%d goroutines", n)
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
