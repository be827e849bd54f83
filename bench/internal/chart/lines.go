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
	FromZero   bool                 // the y axis starts at zero
	XTicks     []plot.Tick          // nil: chosen
	YLabel     func(float64) string // of the y axis' ticks; nil: Number
	Band       [2]float64           // a shaded stretch of y; both zero: none
	BandName   string
}

// fewPoints is up to how many points of a line are marked.
const fewPoints = 30

// Lines draws series as lines, with the legend below the title.
func Lines(title string, a Axes, series []Series) ([]byte, error) {
	p := newPlot(title, a.X, a.Y)
	p.Add(grid())
	var entries []entry
	if a.Band != [2]float64{} {
		p.Add(band{a.Band})
	}
	for i, s := range series {
		e, err := s.add(p, a, Palette(i))
		if err != nil {
			return nil, fmt.Errorf("chart: %s: %w", s.Name, err)
		}
		if e.name != "" {
			entries = append(entries, e)
		}
	}
	if a.BandName != "" {
		entries = append(entries, entry{a.BandName, draw.LineStyle{Color: bandColor(), Width: 6}})
	}
	scale(&p.X, a.LogX, nil)
	scale(&p.Y, a.LogY, a.YLabel)
	if a.XTicks != nil {
		p.X.Tick.Marker = plot.ConstantTicks(a.XTicks)
	}
	if a.FromZero {
		p.Y.Min = 0
		p.Y.Max *= 1.05
	}
	return render(p, 290, entries...)
}

// add adds the line to p and returns its entry in the legend; none without a point to draw.
func (s Series) add(p *plot.Plot, a Axes, c color.Color) (entry, error) {
	xy := make(plotter.XYs, 0, len(s.X))
	for j := range s.X {
		if a.LogY && s.Y[j] <= 0 || a.LogX && s.X[j] <= 0 {
			continue
		}
		xy = append(xy, plotter.XY{X: s.X[j], Y: s.Y[j]})
	}
	if len(xy) == 0 {
		return entry{}, nil
	}
	line, points, err := plotter.NewLinePoints(xy)
	if err != nil {
		return entry{}, err
	}
	if s.Color != nil {
		c = s.Color
	}
	line.Color, line.Width = c, 1.6
	if s.Dashed {
		line.Dashes = []vg.Length{4, 3}
	}
	p.Add(line)
	if len(xy) <= fewPoints {
		points.Color, points.Radius, points.Shape = c, 2.2, draw.CircleGlyph{}
		p.Add(points)
	}
	return entry{s.Name, line.LineStyle}, nil
}

// scale sets an axis to a logarithmic or a linear scale.
func scale(a *plot.Axis, log bool, label func(float64) string) {
	a.Tick.Marker = short{log, label}
	if math.IsInf(a.Min, 0) || math.IsInf(a.Max, 0) || log && a.Min <= 0 {
		a.Min, a.Max = 1, 10 // nothing was drawn
	}
	if log {
		a.Scale = plot.LogScale{}
		a.Min, a.Max = math.Pow(10, math.Floor(math.Log10(a.Min))), math.Pow(10, math.Ceil(math.Log10(a.Max)))
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
