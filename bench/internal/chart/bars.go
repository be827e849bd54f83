package chart

import "github.com/uidring/uidring/internal/human"

// Bar is one horizontal bar.
type Bar struct {
	Label string
	Value float64
	Text  string // at the bar's end
	Color string
}

// Bars draws horizontal bars from zero, the first on top.
func Bars(title, unit string, bars []Bar) []byte {
	const pitch, thick = 22.0, 14.0
	var labels []string
	longest := 1e-9 // so that bars of zero have a scale
	for _, b := range bars {
		labels, longest = append(labels, b.Label), max(longest, b.Value)
	}
	left := margin + room(labels...) + 8
	scale := (width - margin - left) / longest
	for _, b := range bars {
		scale = min(scale, (width-margin-left-room(b.Text)-8)/max(longest/1e6, b.Value))
	}
	bottom := top + pitch*float64(len(bars)) + 4
	c := newCanvas(title, bottom+48)
	for _, v := range ticks(0, longest) {
		x := left + v*scale
		c.line(x, top, x, bottom, "#ddd")
		c.text(x, bottom+16, "middle", `fill="#555"`, human.Short(v))
	}
	c.text(margin, bottom+36, "start", `fill="#555"`, unit)
	for i, b := range bars {
		y := top + pitch*float64(i) + (pitch-thick)/2
		c.text(left-8, y+11.5, "end", "", b.Label)
		c.add(`<rect x="%.1f" y="%.1f" width="%.1f" height="%g" fill="%s"/>`,
			left, y, b.Value*scale, thick, b.Color)
		c.text(left+b.Value*scale+6, y+11.5, "start", "", b.Text)
	}
	return c.end()
}
