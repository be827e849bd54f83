package chart

import (
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Series is one line.
type Series struct {
	Name   string
	X, Y   []float64
	Color  color.Color
	Dashed bool
}

// Axes says what the axes of Lines are.
type Axes struct {
	X, Y       string
	LogX, LogY bool
	FromZero   bool        // the y axis starts at zero
	XTicks     []plot.Tick // nil: chosen
	Band       [2]float64  // a shaded stretch of y; both zero: none
	BandName   string
}

// Lines draws series as lines with a mark at each point, the legend below the title.
func Lines(title string, a Axes, series []Series) ([]byte, error) {
	p := newPlot(title, a.X, a.Y)
	p.Add(grid())
	if a.Band != [2]float64{} {
		p.Add(band{a.Band})
	}
	for i, s := range series {
		xy := make(plotter.XYs, 0, len(s.X))
		for j := range s.X {
			if a.LogY && s.Y[j] <= 0 || a.LogX && s.X[j] <= 0 {
				continue
			}
			xy = append(xy, plotter.XY{X: s.X[j], Y: s.Y[j]})
		}
		if len(xy) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xy)
		if err != nil {
			return nil, fmt.Errorf("chart: %s: %w", s.Name, err)
		}
		c := s.Color
		if c == nil {
			c = Palette(i)
		}
		line.Color, line.Width = c, vg.Points(1.6)
		if s.Dashed {
			line.Dashes = []vg.Length{4, 3}
		}
		points.Color, points.Radius, points.Shape = c, vg.Points(2.2), draw.CircleGlyph{}
		p.Add(line, points)
		p.Legend.Add(s.Name, line, points)
	}
	if a.BandName != "" {
		p.Legend.Add(a.BandName, swatch{})
	}
	scale(&p.X, a.LogX)
	scale(&p.Y, a.LogY)
	if a.XTicks != nil {
		p.X.Tick.Marker = plot.ConstantTicks(a.XTicks)
	}
	if a.FromZero {
		p.Y.Min = 0
		p.Y.Max *= 1.05
	}
	p.Legend.Top = true
	p.Legend.Padding = 2
	// The legend gets a strip of its own on top, so that it covers no line.
	rows := vg.Length(len(series) + 1)
	p.Legend.YOffs = rows * 13
	p.Title.Padding = rows*13 + 4
	return render(p, 300+rows*13)
}

// scale sets an axis to a logarithmic or a linear scale.
func scale(a *plot.Axis, log bool) {
	a.Tick.Marker = short{log: log}
	if log {
		a.Scale = plot.LogScale{}
		if a.Min > 0 && a.Max/a.Min < 10 {
			a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(a.Min))), math.Pow(10, math.Ceil(math.Log10(a.Max)))
		}
		return
	}
	if a.Min == a.Max {
		a.Min, a.Max = a.Min-1, a.Max+1
	}
}

// grid returns faint lines.
func grid() *plotter.Grid {
	g := plotter.NewGrid()
	g.Horizontal.Color, g.Vertical.Color = color.Gray{Y: 225}, color.Gray{Y: 235}
	return g
}

// band is a shaded stretch of y over the whole width.
type band struct{ y [2]float64 }

// bandColor is the colour of what the original publishes.
func bandColor() color.Color { return color.RGBA{213, 94, 0, 255} }

// DataRange implements plot.DataRanger.
func (b band) DataRange() (xmin, xmax, ymin, ymax float64) {
	return math.Inf(1), math.Inf(-1), b.y[0], b.y[1]
}

// Plot implements plot.Plotter.
func (b band) Plot(c draw.Canvas, p *plot.Plot) {
	_, toY := p.Transforms(&c)
	lo, hi := toY(b.y[0]), toY(b.y[1])
	c.FillPolygon(bandColor(), []vg.Point{{X: c.Min.X, Y: lo}, {X: c.Max.X, Y: lo}, {X: c.Max.X, Y: hi}, {X: c.Min.X, Y: hi}})
}

// swatch is the band in the legend.
type swatch struct{}

// Thumbnail implements plot.Thumbnailer.
func (swatch) Thumbnail(c *draw.Canvas) { c.FillPolygon(bandColor(), corners(c)) }

func corners(c *draw.Canvas) []vg.Point {
	return []vg.Point{{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y}}
}

// Number returns v short: "1.5", "20k", "3M", "2G".
func Number(v float64) string {
	abs := math.Abs(v)
	for _, u := range []struct {
		from float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if abs >= u.from*0.9995 {
			return fmt.Sprintf("%.4g%s", v/u.from, u.name)
		}
	}
	if abs < 1e-9 {
		return "0"
	}
	return fmt.Sprintf("%.3g", v)
}
