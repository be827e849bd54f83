package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/uidring/uidring/internal/human"
)

// grid is a table of text. Its Markdown is aligned, so that it reads as well on a terminal as on a
// page.
type grid struct {
	head []string
	rows [][]string
}

// add adds a row. Cells that are not given are empty.
func (g *grid) add(cells ...string) {
	g.rows = append(g.rows, append(cells, make([]string, len(g.head)-len(cells))...))
}

// String returns the Markdown. The first column is aligned left, the others right unless they have
// long texts.
func (g *grid) String() string {
	width := make([]int, len(g.head))
	for _, r := range append([][]string{g.head}, g.rows...) {
		for i, c := range r {
			width[i] = max(3, width[i], utf8.RuneCountInString(c))
		}
	}
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			fill := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if i > 0 && width[i] <= 22 {
				c = fill + c
			} else {
				c += fill
			}
			b.WriteString("| " + c + " ")
		}
		b.WriteString("|\n")
	}
	line(g.head)
	rule := make([]string, len(width))
	for i, w := range width {
		rule[i] = strings.Repeat("-", w)
		if i > 0 && w <= 22 {
			rule[i] = rule[i][1:] + ":"
		}
	}
	line(rule)
	for _, r := range g.rows {
		line(r)
	}
	return b.String()
}

// ns returns nanoseconds with three significant digits and a unit: "5.12 ns", "1.20 µs".
func ns(v float64) string {
	switch {
	case math.IsNaN(v) || v == 0:
		return "-"
	case v < 1e3:
		return three(v) + " ns"
	case v < 1e6:
		return three(v/1e3) + " µs"
	case v < 1e9:
		return three(v/1e6) + " ms"
	}
	return three(v/1e9) + " s"
}

// perSecond returns a rate: "195 M/s", "25.6 k/s".
func perSecond(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v >= 1e6:
		return three(v/1e6) + " M/s"
	case v >= 1e3:
		return three(v/1e3) + " k/s"
	}
	return three(v) + " /s"
}

// three returns v with three significant digits and no exponent.
func three(v float64) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case abs >= 99.95:
		return human.Count(int64(math.Round(v)))
	case abs >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v == 0:
		return "0"
	}
	return fmt.Sprintf("%.2f", v)
}
