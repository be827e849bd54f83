// Package chart draws the report's charts as SVG that is readable at the width of a README, on an opaque white ground, so
// that it looks the same in a dark theme.
package chart

import (
	"bytes"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Width of every chart: 640 points are 853 pixels, a little more than GitHub gives a README's column.
const Width vg.Length = 640

const (
	textSize  vg.Length = 10
	titleSize vg.Length = 13
)

// Palette returns the colour of series i. The first eight are told apart by readers with any of the usual colour blindnesses
// (Okabe and Ito, "Color Universal Design", 2008).
func Palette(i int) color.Color {
	c := [...]color.RGBA{
		{0, 114, 178, 255}, {230, 159, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
		{213, 94, 0, 255}, {86, 180, 233, 255}, {110, 110, 110, 255}, {160, 140, 0, 255},
	}
	return c[i%len(c)]
}

// newPlot returns an empty plot in the common style.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	sans := func(size vg.Length, bold bool) font.Font {
		f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
		if bold {
			f.Weight = 2 // bold in x/image/font
		}
		return f
	}
	p.BackgroundColor = color.White
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.TextStyle.Font = sans(titleSize, true)
	p.Title.Padding = 6
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = sans(textSize, false)
		a.Tick.Label.Font = sans(textSize, false)
		a.LineStyle.Color = color.Gray{Y: 90}
		a.Tick.LineStyle.Color = color.Gray{Y: 90}
	}
	p.Legend.TextStyle.Font = sans(textSize, false)
	return p
}

// render draws p as SVG, with room for entries below the title.
func render(p *plot.Plot, height vg.Length, entries ...entry) ([]byte, error) {
	const margin = 8
	strip := vg.Length((len(entries)+1)/2) * entryHeight
	height += strip
	p.Title.Padding += strip
	c := vgsvg.New(Width, height)
	dc := draw.New(c)
	dc.SetColor(color.White)
	dc.Fill(dc.Rectangle.Path())
	p.Draw(draw.Crop(dc, margin, -2*margin, margin, -margin))
	for i, e := range entries {
		e.draw(dc, p.Legend.TextStyle, vg.Point{
			X: 60 + vg.Length(i%2)*(Width-60)/2,
			Y: height - margin - 1.5*titleSize - (vg.Length(i/2)+0.5)*entryHeight,
		})
	}
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// The text is measured in Liberation Sans, which has the widths of Arial and Helvetica; a browser has one of them.
	svg := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif"))
	return svg, nil
}

// entry is one line of a legend. gonum's own legend lies over the lines that it explains.
type entry struct {
	name string
	line draw.LineStyle
}

const entryHeight vg.Length = 15

func (e entry) draw(c draw.Canvas, s draw.TextStyle, at vg.Point) {
	c.StrokeLine2(e.line, at.X, at.Y, at.X+24, at.Y)
	s.YAlign = draw.YCenter
	c.FillText(s, vg.Point{X: at.X + 30, Y: at.Y + baseline}, e.name)
}

// baseline is what lifts a text that is centred by its font's height to where the eye sees its centre.
const baseline vg.Length = 1
