package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/human"
)

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		longest float64
		want    string
	}{
		{130, "0 20 40 60 80 100 120"}, {1.3, "0 0.2 0.4 0.6 0.8 1 1.2"},
	} {
		var got []string
		for _, v := range ticks(tt.longest) {
			got = append(got, human.Short(v))
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("up to %v: ticks %q, want %q", tt.longest, got, tt.want)
		}
	}
}

// Bars are drawn to scale, texts are escaped, and a chart of nothing or of zeros is well-formed too:
// a suite that was cut short must not keep the report from being written.
func TestBars(t *testing.T) {
	t.Parallel()
	for name, bars := range map[string][]bar{
		"none": nil, "a zero": {{Label: "l"}},
		"two": {{Label: "a<b", Value: 100, Color: "red"}, {Value: 50, Color: "blue"}},
	} {
		text := &strings.Builder{}
		if err := templates.ExecuteTemplate(text, "chart.tmpl", newChart("t & u", "x", bars)); err != nil {
			t.Fatal(err)
		}
		svg := text.String()
		width := map[string]float64{}
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
				var r struct {
					Width float64 `xml:"width,attr"`
					Fill  string  `xml:"fill,attr"`
				}
				if err := d.DecodeElement(&r, &start); err != nil {
					t.Fatal(err)
				}
				width[r.Fill] = r.Width
			}
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: %s", name, svg)
		}
		if ratio := width["red"] / width["blue"]; name == "two" && (ratio < 1.99 || ratio > 2.01) {
			t.Errorf("a bar of 100 is %v times as long as one of 50", ratio)
		}
	}
}
