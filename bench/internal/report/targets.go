package report

import (
	"math"
	"slices"

	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

// Paired is the median and the 10th percentile of what the rounds of two cells make together.
type Paired struct {
	Median, P10 float64
	unit        string
}

func paired(a, b *result.Row, unit string, f func(a, b float64) float64) Paired {
	v := result.Pairs(a.Values, b.Values, f)
	return Paired{result.Median(v), result.Quantile(v, 0.1), unit}
}

func (q Paired) String() string { return show(q.Median, q.unit) + " (" + show(q.P10, q.unit) + ")" }

// Scaled returns n times q.
func (q Paired) Scaled(n int) Paired {
	return Paired{float64(n) * q.Median, float64(n) * q.P10, q.unit}
}

// Above is by how much a latency of a row of the closed loop is above that of another.
func (r *Report) Above(name, floor, column string) Paired {
	f := r.files["latency"]
	return paired(f.Get("closed", name, column), f.Get("closed", floor, column), "ns",
		func(a, b float64) float64 { return a - b })
}

// Loads are one goroutine on one processor, and on all.
func (r *Report) Loads() []string {
	return slices.Compact([]string{suite.On(1, 1), suite.On(1, r.Procs())})
}

// Targets is the table of bounds that the results meet or miss, and why they miss some.
type Targets struct {
	*grid
	Reasons []string // each once
}

// Targets returns the table without its lines, which the template adds.
func (r *Report) Targets(head ...string) *Targets { return &Targets{grid: newGrid(head...)} }

// Add adds the line of a target: the median of q is at most so much. called is another cell. It
// returns nothing to show.
func (t *Targets) Add(what, against, load string, most float64, q Paired, called any,
	why string) string {
	bound, verdict, reason := three(most)+" ×", "met", "Against "+against+": "+why
	if q.unit != "" {
		bound = show(most, q.unit) + " more"
	}
	switch {
	case math.IsNaN(q.Median):
		verdict = "not measured"
	case q.Median > most:
		verdict = "**missed**"
		if !slices.Contains(t.Reasons, reason) {
			t.Reasons = append(t.Reasons, reason)
		}
	}
	return t.grid.Add(what, against, load, bound, q, called, verdict)
}
