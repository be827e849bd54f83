// Package chart draws the report's charts as SVG. A chart stands on an opaque white ground, so that
// it looks the same in a dark theme, and leaves room for fonts that are wider than usual: the
// reader's browser picks the font.
package chart

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"unicode/utf8"
)

const (
	width    = 840.0
	fontSize = 13.0
	perRune  = 0.68 * fontSize // of a wide sans-serif such as Verdana or DejaVu Sans, bold
	margin   = 14.0
	top      = 46.0 // the title
)

// Palette returns the colour of series i. Readers with any of the usual colour blindnesses can tell
// the first seven apart (Okabe and Ito, "Color Universal Design", 2008).
func Palette(i int) string {
	c := [...]string{"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#6E6E6E",
		"#A08C00"}
	return c[i%len(c)]
}

// canvas is an SVG that is being written. y increases downwards.
type canvas struct{ b bytes.Buffer }

// newCanvas returns a canvas with a title on a white ground.
func newCanvas(title string, height float64) *canvas {
	c := new(canvas)
	c.add(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" `+
			`width="%[1]g" height="%[2]g" `+
			`role="img" font-family="sans-serif" font-size="%[3]g" fill="#222">`, width,
		height, fontSize)
	c.add(`<title>%s</title>`, html.EscapeString(title))
	c.add(`<rect width="%g" height="%g" rx="6" fill="#fff"/>`, width, height)
	c.text(margin, 28, "start", `font-size="15" font-weight="bold"`, title)
	return c
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// text writes s with its baseline at y; anchor is what of it lies at x: start, middle or end.
func (c *canvas) text(x, y float64, anchor, attr, s string) {
	c.add(`<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`, x, y, anchor, attr,
		html.EscapeString(s))
}

func (c *canvas) line(x1, y1, x2, y2 float64, color string) {
	c.add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"/>`, x1, y1, x2, y2, color)
}

// end returns the SVG.
func (c *canvas) end() []byte {
	c.add("</svg>")
	return c.b.Bytes()
}

// room returns the width of the longest text in a wide font.
func room(texts ...string) float64 {
	n := 0
	for _, s := range texts {
		n = max(n, utf8.RuneCountInString(s))
	}
	return float64(n) * perRune
}

// ticks returns between three and eight round numbers from lo to hi.
func ticks(lo, hi float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/3)))
	for (hi-lo)/step > 8 {
		step *= 2
	}
	var out []float64
	for i := math.Ceil(lo / step); i*step <= hi; i++ {
		out = append(out, i*step)
	}
	return out
}
