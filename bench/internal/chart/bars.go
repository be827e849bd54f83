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

	"github.com/uidring/uidring/internal/human"
)

// Colours that readers with any of the usual colour blindnesses can tell apart (Okabe and Ito,
// "Color Universal Design", 2008).
const (
	Blue   = "#0072B2"
	Orange = "#E69F00"
	Grey   = "#6E6E6E"
)

const (
	width    = 840.0
	fontSize = 13.0
	perRune  = 0.68 * fontSize // of a wide sans-serif such as Verdana or DejaVu Sans, bold
	margin   = 14.0
	top      = 46.0 // the title
)

// Bar is one horizontal bar.
type Bar struct {
	Label string
	Value float64
	Text  string // at the bar's end
	Color string
}

// Bars draws horizontal bars from zero, the first on top. y increases downwards.
func Bars(title, unit string, bars []Bar) []byte {
	const pitch, thick = 22.0, 14.0
	left, longest := margin, 1e-9 // so that bars of zero have a scale
	for _, b := range bars {
		left, longest = max(left, margin+8+room(b.Label)), max(longest, b.Value)
	}
	scale := (width - margin - left) / longest
	for _, b := range bars {
		scale = min(scale, (width-margin-left-room(b.Text)-8)/max(longest/1e6, b.Value))
	}
	bottom := top + pitch*float64(len(bars)) + 4
	var out bytes.Buffer
	add := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	text := func(x, y float64, anchor, attr, s string) { // anchor: what of it lies at x
		add(`<text x="%.1f" y="%.1f" text-anchor="%s" %s>%s</text>`, x, y, anchor, attr,
			html.EscapeString(s))
	}
	add(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]g %[2]g" width="%[1]g" `+
		`height="%[2]g" role="img" font-family="sans-serif" font-size="%[3]g" fill="#222">`,
		width, bottom+48, fontSize)
	add(`<title>%s</title>`, html.EscapeString(title))
	add(`<rect width="%g" height="%g" rx="6" fill="#fff"/>`, width, bottom+48)
	text(margin, 28, "start", `font-size="15" font-weight="bold"`, title)
	for _, v := range ticks(longest) {
		x := left + v*scale
		add(`<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>`, x, top, x, bottom)
		text(x, bottom+16, "middle", `fill="#555"`, human.Short(v))
	}
	text(margin, bottom+36, "start", `fill="#555"`, unit)
	for i, b := range bars {
		y := top + pitch*float64(i) + (pitch-thick)/2
		text(left-8, y+11.5, "end", "", b.Label)
		add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%g" fill="%s"/>`,
			left, y, b.Value*scale, thick, b.Color)
		text(left+b.Value*scale+6, y+11.5, "start", "", b.Text)
	}
	add("</svg>")
	return out.Bytes()
}

// room returns the width of a text in a wide font.
func room(text string) float64 { return float64(utf8.RuneCountInString(text)) * perRune }

// ticks returns between three and eight round numbers from zero to longest.
func ticks(longest float64) []float64 {
	step := math.Pow(10, math.Floor(math.Log10(longest/3)))
	for longest/step > 8 {
		step *= 2
	}
	var out []float64
	for i := 0.0; i*step <= longest; i++ {
		out = append(out, i*step)
	}
	return out
}
