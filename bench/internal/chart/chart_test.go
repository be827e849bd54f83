package chart

import (
	"encoding/xml"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/human"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a    axis
		want string
	}{
		{axis{lo: 0, hi: 130}, "0 20 40 60 80 100 120"},
		{axis{lo: 0, hi: 1.3}, "0 0.2 0.4 0.6 0.8 1 1.2"},
		{axis{lo: -2, hi: 1}, "-2 -1 0 1"},
		{axis{lo: 10, hi: 10_000, log: true}, "10 100 1k 10k"},
	} {
		var got []string
		for _, v := range tt.a.ticks() {
			got = append(got, human.Short(v))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%+v: ticks %q, want %q", tt.a, got, tt.want)
		}
	}
}

// Charts of nothing and of zeros are drawn: a suite that was cut short must not keep the report
// from being written.
func TestPoorCharts(t *testing.T) {
	t.Parallel()
	for name, svg := range map[string][]byte{
		"no bars":       Bars("t", "x", nil),
		"a bar of zero": Bars("t", "x", []Bar{{Label: "l"}}),
		"no lines":      Lines("t", Axes{}, nil),
		"no logarithms": Lines("t", Axes{LogY: true}, nil),
		"a point":       Lines("t", Axes{FromZero: true}, []Series{{X: []float64{1}, Y: []float64{1}}}),
		"zeros": Lines("t", Axes{LogY: true}, []Series{
			{X: []float64{1, 2}, Y: []float64{0, 0}}}),
	} {
		check(t, name, svg)
	}
}

// check fails on what is not well-formed or has a coordinate that is no number.
func check(t *testing.T, name string, svg []byte) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(string(svg))); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if s := string(svg); strings.Contains(s, "NaN") || strings.Contains(s, "Inf") || !strings.Contains(s, "</svg>") {
		t.Errorf("%s: %s", name, s)
	}
}

// element is what the tests look at in a drawn chart.
type element struct {
	XMLName xml.Name
	X       float64 `xml:"x,attr"`
	Anchor  string  `xml:"text-anchor,attr"`
	Fill    string  `xml:"fill,attr"`
	Text    string  `xml:",chardata"`
}

func elements(t *testing.T, svg []byte) []element {
	t.Helper()
	var doc struct {
		Elements []element `xml:",any"`
	}
	if err := xml.Unmarshal(svg, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Elements
}

// In a font as wide as DejaVu Sans, 0.65 of its size per character in the mean, no label reaches a
// bar or the edge, and no value the edge.
func TestBarsLeaveRoom(t *testing.T) {
	t.Parallel()
	const wide = 0.65 * fontSize
	bars := []Bar{
		{Label: "uid.Cached, many lanes, Fill of 1,024", Value: 10, Text: "10.5 †", Color: Palette(0)},
		{Label: "short", Value: 5, Text: "5", Color: Palette(1)},
	}
	svg := Bars("the title & more", "the unit", bars)
	check(t, "bars", svg)
	var texts []string
	left := 0.0
	for _, e := range elements(t, svg) {
		if e.XMLName.Local == "rect" && e.Fill == Palette(0) {
			left = e.X
		}
	}
	for _, e := range elements(t, svg) {
		if e.XMLName.Local != "text" {
			continue
		}
		texts = append(texts, e.Text)
		size := wide * float64(len([]rune(e.Text)))
		if e.Anchor == "end" && (e.X >= left || e.X-size < 0) {
			t.Errorf("%q ends at %v and begins at %v, want it between 0 and the bars at %v",
				e.Text, e.X, e.X-size, left)
		}
		if e.Anchor == "start" && e.X+size > width {
			t.Errorf("%q ends at %v, want it within %v", e.Text, e.X+size, width)
		}
	}
	for _, want := range []string{"the title & more", "the unit", "short", "10.5 †"} {
		if !slices.Contains(texts, want) {
			t.Errorf("the chart lacks %q", want)
		}
	}
}

// A legend of two columns does not run into itself, and every line has its entry.
func TestLinesLegend(t *testing.T) {
	t.Parallel()
	name := "yitter/idgenerator-go 10-bit seq"
	var series []Series
	for range 3 {
		series = append(series, Series{Name: name, X: []float64{0, 1}, Y: []float64{10, 1000}})
	}
	svg := Lines("t", Axes{LogY: true, XLabels: []string{"p50", "p90"}}, series)
	check(t, "lines", svg)
	entries := 0
	for _, e := range elements(t, svg) {
		if e.Text != name {
			continue
		}
		entries++
		if end := e.X + 0.65*fontSize*float64(len(name)); end > width || e.X < width/2 && end > width/2 {
			t.Errorf("the entry at %v ends at %v", e.X, end)
		}
	}
	if entries != 3 {
		t.Errorf("%d entries, want 3", entries)
	}
}
