package report

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/uidring/uidring/bench/internal/contender"
)

// colours of bars: readers with any of the usual colour blindnesses can tell them apart (Okabe and
// Ito, "Color Universal Design", 2008).
var colours = map[contender.Group]string{
	contender.Own: "#0072B2", contender.Peer: "#E69F00", contender.Floor: "#6E6E6E",
}

// bar is one horizontal bar. Its text stands at its end.
type bar struct {
	Label, Text, Color string
	Value, Y, Width    float64
}

// chart is what chart.tmpl draws: horizontal bars from zero, the first on top. It leaves room for
// fonts that are wider than usual: the reader's browser picks the font.
type chart struct {
	Title, Unit                 string
	Bars                        []bar
	Ticks                       []float64
	Left, Bottom, Height, Scale float64 // where bars begin and end; pixels of a unit
}

// newChart lays the bars out. The template has the same sizes.
func newChart(title, unit string, bars []bar) *chart {
	const width, margin, top = 840.0, 14.0, 46.0
	c := &chart{Title: title, Unit: unit, Bars: bars, Left: margin, Bottom: top + 4}
	longest := 1e-9 // so that bars of zero have a scale
	for i, b := range bars {
		c.Left, longest = max(c.Left, margin+8+room(b.Label)), max(longest, b.Value)
		bars[i].Y = c.Bottom
		c.Bottom += 22
	}
	c.Scale = (width - margin - c.Left) / longest
	for _, b := range bars {
		c.Scale = min(c.Scale, (width-margin-c.Left-room(b.Text)-8)/max(longest/1e6, b.Value))
	}
	for i, b := range bars {
		bars[i].Width = b.Value * c.Scale
	}
	c.Ticks, c.Height = ticks(longest), c.Bottom+48
	return c
}

// X returns how far from the left a value is.
func (c *chart) X(v float64) float64 { return c.Left + v*c.Scale }

// room returns the width of a text in a wide sans-serif such as Verdana or DejaVu Sans, bold.
func room(text string) float64 { return 0.68 * 13 * float64(utf8.RuneCountInString(text)) }

// ticks returns between three and eight round numbers from zero to longest.
func ticks(longest float64) (out []float64) {
	step := math.Pow(10, math.Floor(math.Log10(longest/3)))
	for longest/step > 8 {
		step *= 2
	}
	for i := 0.0; i*step <= longest; i++ {
		out = append(out, i*step)
	}
	return out
}

// sum shows the sum of coordinates.
func sum(terms ...float64) string {
	at := 0.0
	for _, v := range terms {
		at += v
	}
	return fmt.Sprintf("%.1f", at)
}
