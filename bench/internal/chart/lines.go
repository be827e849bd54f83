package chart

import (
	"fmt"
	"math"
	"strings"

	"github.com/uidring/uidring/internal/human"
)

// Series is one line.
type Series struct {
	Name   string
	X, Y   []float64
	Dashed bool
}

// Axes says what the axes of Lines are.
type Axes struct {
	X, Y     string
	XLabels  []string             // at 0, 1, 2 and so on; nil: numbers
	LogY     bool                 // values of y that are not positive are left out
	FromZero bool                 // y starts at zero
	YLabel   func(float64) string // of the ticks of y; nil: human.Short
}

// axis maps values to pixels from p0 to p1.
type axis struct {
	lo, hi, p0, p1 float64
	log            bool
}

func (a axis) at(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		lo, hi, v = math.Log10(lo), math.Log10(hi), math.Log10(v)
	}
	return a.p0 + (v-lo)/(hi-lo)*(a.p1-a.p0)
}

// ticks returns the values that get a label.
func (a axis) ticks() (out []float64) {
	if !a.log {
		return ticks(a.lo, a.hi)
	}
	for v := a.lo; v <= a.hi*1.01; v *= 10 {
		out = append(out, v)
	}
	return out
}

// fit returns an axis that holds all values.
func fit(values []float64, log, fromZero bool, p0, p1 float64) axis {
	a := axis{lo: math.Inf(1), hi: math.Inf(-1), p0: p0, p1: p1, log: log}
	for _, v := range values {
		if !log || v > 0 {
			a.lo, a.hi = min(a.lo, v), max(a.hi, v)
		}
	}
	if a.lo > a.hi {
		a.lo, a.hi = 1, 2 // nothing to draw
	}
	if fromZero && !log {
		a.lo, a.hi = min(0, a.lo), a.hi*1.05
	}
	if log {
		a.lo, a.hi = math.Pow(10, math.Floor(math.Log10(a.lo))),
			math.Pow(10, math.Ceil(math.Log10(a.hi)))
	}
	if a.lo == a.hi {
		a.hi++
	}
	return a
}

// Lines draws series as lines, with the legend below the title.
func Lines(title string, a Axes, series []Series) []byte {
	const entry, plotHeight = 20.0, 260.0
	if a.YLabel == nil {
		a.YLabel = human.Short
	}
	var xs, ys []float64
	for _, s := range series {
		xs, ys = append(xs, s.X...), append(ys, s.Y...)
	}
	plotTop := top + entry*float64((len(series)+1)/2) + 34
	bottom := plotTop + plotHeight
	y := fit(ys, a.LogY, a.FromZero, bottom, plotTop)
	var labels []string
	for _, v := range y.ticks() {
		labels = append(labels, a.YLabel(v))
	}
	left := margin + room(labels...) + 8
	if n := len(a.XLabels); n > 0 {
		xs = append(xs, 0, float64(n-1))
	}
	x := fit(xs, false, false, left+20, width-margin-40)
	c := newCanvas(title, bottom+46)
	c.text(margin, plotTop-12, "start", `fill="#555"`, a.Y)
	for i, v := range y.ticks() {
		c.line(left, y.at(v), width-margin, y.at(v), "#ddd")
		c.text(left-8, y.at(v)+4.5, "end", `fill="#555"`, labels[i])
	}
	xTicks := ticks(x.lo, x.hi)
	if a.XLabels != nil {
		xTicks = nil
	}
	for i, s := range a.XLabels {
		c.text(x.at(float64(i)), bottom+18, "middle", `fill="#555"`, s)
	}
	for _, v := range xTicks {
		c.text(x.at(v), bottom+18, "middle", `fill="#555"`, human.Short(v))
	}
	c.text(left, bottom+38, "start", `fill="#555"`, a.X)
	for i, s := range series {
		color, dash := Palette(i), ""
		if s.Dashed {
			dash = `stroke-dasharray="5 4" `
		}
		ex := margin + float64(i%2)*(width-2*margin)/2
		ey := top + entry*float64(i/2) + 10
		stroke := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2" %s`, color, dash)
		c.add(`<path d="M%.1f,%.1fh28" %s/>`, ex, ey, stroke)
		c.text(ex+36, ey+4.5, "start", "", s.Name)
		s.draw(c, x, y, stroke, color)
	}
	return c.end()
}

// draw draws one line, with a dot for each point if they are few.
func (s Series) draw(c *canvas, x, y axis, stroke, color string) {
	var path strings.Builder
	for i := range s.X {
		if y.log && s.Y[i] <= 0 {
			continue
		}
		px, py := x.at(s.X[i]), y.at(s.Y[i])
		fmt.Fprintf(&path, "%c%.1f,%.1f", "ML"[min(1, path.Len())], px, py)
		if len(s.X) <= 30 {
			c.add(`<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, px, py, color)
		}
	}
	if path.Len() > 0 {
		c.add(`<path d="%s" %s/>`, path.String(), stroke)
	}
}
