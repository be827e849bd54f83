package report

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// grid is a table of text. Its Markdown is aligned, so that it reads as well on a terminal as on a page.
type grid struct {
	head []string
	rows [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

// String returns the Markdown. The first column is aligned left, the others right unless they are long texts.
func (g *grid) String() string {
	width := make([]int, len(g.head))
	for i, h := range g.head {
		width[i] = max(3, utf8.RuneCountInString(h))
	}
	for _, r := range g.rows {
		for i, c := range r {
			width[i] = max(width[i], utf8.RuneCountInString(c))
		}
	}
	right := func(i int) bool { return i > 0 && width[i] <= 16 }
	var b strings.Builder
	line := func(cells []string) {
		for i, c := range cells {
			fill := strings.Repeat(" ", width[i]-utf8.RuneCountInString(c))
			if right(i) {
				b.WriteString("| " + fill + c + " ")
			} else {
				b.WriteString("| " + c + fill + " ")
			}
		}
		b.WriteString("|\n")
	}
	line(g.head)
	for i, w := range width {
		if right(i) {
			b.WriteString("| " + strings.Repeat("-", w-1) + ": ")
		} else {
			b.WriteString("| " + strings.Repeat("-", w) + " ")
		}
	}
	b.WriteString("|\n")
	for _, r := range g.rows {
		line(r)
	}
	return b.String()
}

// ns returns nanoseconds with three significant digits and a unit: "5.12 ns", "1.20 µs".
func ns(v float64) string {
	switch {
	case v == 0 || math.IsNaN(v):
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
	case abs >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case abs >= 9.995:
		return fmt.Sprintf("%.1f", v)
	case v == 0:
		return "0"
	}
	return fmt.Sprintf("%.2f", v)
}

// bytesText returns a size: "64.0 KiB".
func bytesText(v int64) string {
	switch {
	case v >= 1<<20:
		return three(float64(v)/(1<<20)) + " MiB"
	case v >= 1<<10:
		return three(float64(v)/(1<<10)) + " KiB"
	}
	return fmt.Sprintf("%d B", v)
}

// seconds returns a duration in seconds as text for people.
func seconds(v float64) string {
	return time.Duration(v * float64(time.Second)).Round(100 * time.Millisecond).String()
}

// thousands returns n with commas.
func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
