package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/uidring/uidring/internal/human"
)

// grid is a table of text, the head first. Its Markdown is aligned, so that it reads as well on a
// terminal as on a page. Cells that a line lacks are empty.
type grid struct{ lines [][]string }

func newGrid(head ...string) *grid { return &grid{[][]string{head}} }

// Add adds a line to a grid and returns nothing, which is what a template then shows.
func (g *grid) Add(cells ...any) string {
	line := make([]string, len(g.lines[0]))
	for i, cell := range cells {
		if v, ok := cell.(float64); ok {
			cell = three(v)
		}
		line[i] = fmt.Sprint(cell)
	}
	g.lines = append(g.lines, line)
	return ""
}

// String returns the Markdown. The first column is aligned left, the others right unless they have
// long texts.
func (g *grid) String() string {
	widths, rule := make([]int, len(g.lines[0])), "|" // negative: aligned left
	for i := range widths {
		w := 3
		for _, line := range g.lines {
			w = max(w, utf8.RuneCountInString(line[i]))
		}
		if widths[i] = w; i == 0 || w > 22 {
			widths[i] = -w
			rule += " " + strings.Repeat("-", w) + " |"
		} else {
			rule += " " + strings.Repeat("-", w-1) + ": |"
		}
	}
	var b strings.Builder
	for at, line := range g.lines {
		for i, cell := range line {
			fmt.Fprintf(&b, "| %*s ", widths[i], cell)
		}
		b.WriteString("|\n")
		if at == 0 {
			b.WriteString(rule + "\n")
		}
	}
	return b.String()
}

// show returns a value with its unit: "5.12 ns", "1.20 µs", "3.4 MiB".
func show(v float64, unit string) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case unit == "B":
		return human.Bytes(int64(v))
	case unit != "ns":
		return three(v)
	}
	for _, unit := range []string{" ns", " µs", " ms"} {
		if v < 1e3 {
			return three(v) + unit
		}
		v /= 1e3
	}
	return three(v) + " s"
}

// three returns v with three significant digits and no exponent, and whole from a hundred on.
func three(v float64) string {
	switch abs := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case abs >= 99.95 || v == math.Trunc(v):
		return human.Count(int64(math.Round(v)))
	case abs >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
