package chart

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Bar is one horizontal bar.
type Bar struct {
	Label  string
	Value  float64
	Lo, Hi float64 // of the whisker; both zero: none
	Text   string  // at the bar's end
	Color  color.Color
}

// Bars draws horizontal bars from zero, the first on top.
func Bars(title, x string, bars []Bar) ([]byte, error) {
	p := newPlot(title, x, "")
	h := &horizontal{bars: bars, style: p.Legend.TextStyle}
	p.Add(h)
	names := make([]string, len(bars))
	for i, b := range bars {
		names[len(bars)-1-i] = b.Label
	}
	if len(names) > 0 {
		p.NominalY(names...)
	}
	p.Y.LineStyle.Width = 0
	p.Y.Padding = 4
	p.X.Min = 0
	p.X.Tick.Marker = short{}
	return render(p, vg.Length(len(bars))*18+70)
}

// horizontal is the plotter of bars: gonum's own has neither values nor colours per bar.
type horizontal struct {
	bars  []Bar
	style draw.TextStyle
}

// DataRange implements plot.DataRanger. The room on the right is for the values.
func (h *horizontal) DataRange() (xmin, xmax, ymin, ymax float64) {
	for _, b := range h.bars {
		xmax = max(xmax, b.Value, b.Hi)
	}
	if xmax == 0 {
		xmax = 1
	}
	return 0, xmax * 1.3, -0.6, float64(len(h.bars)) - 0.4
}

// Plot implements plot.Plotter.
func (h *horizontal) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	const half = 6
	for i, b := range h.bars {
		y := toY(float64(len(h.bars) - 1 - i))
		left, right := toX(0), toX(b.Value)
		c.FillPolygon(b.Color, []vg.Point{{X: left, Y: y - half}, {X: right, Y: y - half}, {X: right, Y: y + half}, {X: left, Y: y + half}})
		end := right
		if b.Lo != 0 || b.Hi != 0 {
			line := draw.LineStyle{Color: color.Gray{Y: 40}, Width: vg.Points(1)}
			c.StrokeLine2(line, toX(b.Lo), y, toX(b.Hi), y)
			end = max(end, toX(b.Hi))
		}
		s := h.style
		s.YAlign = draw.YCenter
		c.FillText(s, vg.Point{X: end + 4, Y: y + baseline}, b.Text)
	}
}

// short is a Ticker with few ticks and short labels.
type short struct {
	log   bool
	label func(float64) string
}

// Ticks implements plot.Ticker.
func (s short) Ticks(lo, hi float64) []plot.Tick {
	if s.log {
		return decades(lo, hi, s.text)
	}
	step := math.Pow(10, math.Floor(math.Log10((hi-lo)/3)))
	for (hi-lo)/step > 8 {
		step *= 2
	}
	var out []plot.Tick
	for v := math.Ceil(lo/step) * step; v <= hi; v += step {
		out = append(out, plot.Tick{Value: v, Label: s.text(v)})
	}
	return out
}

func (s short) text(v float64) string {
	if s.label == nil {
		return Number(v)
	}
	return s.label(v)
}

// decades returns a tick per power of ten between lo and hi, and unlabelled ones between.
func decades(lo, hi float64, label func(float64) string) []plot.Tick {
	var out []plot.Tick
	for e := math.Floor(math.Log10(lo)); math.Pow(10, e) <= hi; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 {
				t.Label = label(v)
			}
			out = append(out, t)
		}
	}
	return out
}
