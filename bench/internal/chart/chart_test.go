package chart

import (
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		v    float64
		want string
	}{{0, "0"}, {1e-12, "0"}, {0.25, "0.25"}, {1, "1"}, {999, "999"}, {1000, "1k"}, {25_600, "25.6k"}, {1e6, "1M"}, {3e9, "3G"}, {-2000, "-2k"}} {
		if got := Number(tt.v); got != tt.want {
			t.Errorf("Number(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		lo, hi float64
		log    bool
		want   string
	}{
		{"from zero", 0, 130, false, "0 20 40 60 80 100 120"},
		{"small", 0, 1.3, false, "0 0.2 0.4 0.6 0.8 1 1.2"},
		{"below zero", -2, 1, false, "-2 -1 0 1"},
		{"decades", 10, 10_000, true, "10 100 1k 10k"},
	} {
		var labels []string
		for _, x := range (short{log: tt.log}).Ticks(tt.lo, tt.hi) {
			if x.Label != "" {
				labels = append(labels, x.Label)
			}
		}
		if got := strings.Join(labels, " "); got != tt.want {
			t.Errorf("%s: ticks %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Charts of nothing and of zeros are drawn: a suite that was cut short must not keep the report from being written.
func TestPoorCharts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		draw func() ([]byte, error)
	}{
		{"no bars", func() ([]byte, error) { return Bars("t", "x", nil) }},
		{"a bar of zero", func() ([]byte, error) { return Bars("t", "x", []Bar{{Label: "l", Color: Palette(0)}}) }},
		{"no lines", func() ([]byte, error) { return Lines("t", Axes{}, nil) }},
		{"a logarithm of nothing", func() ([]byte, error) { return Lines("t", Axes{LogX: true, LogY: true}, nil) }},
		{"a point", func() ([]byte, error) {
			return Lines("t", Axes{FromZero: true}, []Series{{Name: "s", X: []float64{1}, Y: []float64{1}}})
		}},
		{"zeros on a logarithmic scale", func() ([]byte, error) {
			return Lines("t", Axes{LogY: true}, []Series{{Name: "s", X: []float64{1, 2}, Y: []float64{0, 0}}})
		}},
	} {
		svg, err := tt.draw()
		if err != nil || !strings.Contains(string(svg), "</svg>") || strings.Contains(string(svg), "NaN") {
			t.Errorf("%s: %v, %d bytes", tt.name, err, len(svg))
		}
	}
}

func TestBarsShowLabelsAndValues(t *testing.T) {
	t.Parallel()
	svg, err := Bars("the title", "the axis", []Bar{{Label: "first", Value: 10, Text: "ten", Color: Palette(0)}, {Label: "second", Value: 5, Text: "five", Color: Palette(1)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the title", "the axis", ">first<", ">second<", ">ten<", ">five<", "sans-serif", "#0072B2", "#E69F00"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
}
