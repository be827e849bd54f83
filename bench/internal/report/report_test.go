package report

import (
	"encoding/xml"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uidring/uidring/bench/internal/result"
)

// meta describes a machine that there is not.
func meta(suite string, quick bool) result.Meta {
	return result.Meta{Suite: suite, Processor: "Test Processor", CPUs: 2, GOMAXPROCS: 2, GoVersion: "go1.99",
		Platform: "test/arch", Commit: "0123456789ab", Command: "the command", Quick: quick, Seconds: 12,
		Modules: map[string]string{"github.com/rs/xid": "v9.8.7"},
		Date:    time.Date(2026, 2, 3, 4, 5, 0, 0, time.UTC)}
}

func TestWithoutResults(t *testing.T) {
	t.Parallel()
	r, err := Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Targets() {
		if x.Known || x.verdict() != "not measured" {
			t.Errorf("%q is %s", x.What, x.verdict())
		}
	}
	if page := render(t, r); strings.Contains(page, "NaN") {
		t.Errorf("the page says %s", page)
	}
}

func render(t *testing.T, r *Report) string {
	t.Helper()
	b, err := r.render(pageText)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// squeeze makes every run of blanks one.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestPage(t *testing.T) {
	t.Parallel()
	page := squeeze(render(t, met(false)))
	for _, want := range []string{
		"| Test Processor, 2 processors, test/arch |", "| go1.99 |", "| 0123456789ab |", "`the command`",
		"2026-02-03 04:05 UTC",
		"| uid.Cached | 7.00 † | 7.00 † | 1.17 (1.17) | 0.88 (0.88) | 8,192 |",
		"| uid.Cached 31-4-28 | 7.00 | 7.00 |",
		"| bwmarrin/snowflake | 244 * | 244 * | - | - | 4,096,000 |",
		"| yitter/idgenerator-go | 17,000 * |", "| yitter/idgenerator-go 10-bit seq | 80.0 † |",
		"| uid.Cached, many lanes | 4.00 † | 8.00 | 250 M/s |",
		"| uid.Cached, Fill of 256 | 0.30 † | 0.30 † | 1.50 (1.50) |",
		"| 2 goroutines | 5.00 million | 10 | 2.00 |",
		"Ids were repeated by `muyo/sno` (3 of 1000).",
		"| uid.Cached | 50.0 ns | 90.0 ns | 99.0 ns | 1.00 µs | 20.0 µs | 3.00 ms | 1.50 s |", "too slow",
		"| UUIDv4 | CHAR(36) | 250 | 3 MiB | 1 MiB | 1,234 | 2.00 × |",
		"| one lane | 512 | 0.08 ns | 30.0 ns | 100 ns | 1 KiB | default |",
		"No target that was measured is missed.", "Other libraries: rs/xid v9.8.7.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, "quick run") || strings.Contains(page, "NaN") {
		t.Error("the page speaks of a quick run or has a figure that is none")
	}
	if !strings.Contains(render(t, met(true)), "**Some of these results are from a quick run") {
		t.Error("the page hides that it is from a quick run")
	}
}

// The READMEs' tables mark what the page marks, and say what a layout sustains.
func TestReadme(t *testing.T) {
	t.Parallel()
	for _, text := range []string{readmeText, readmeChineseText} {
		b, err := met(false).render(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"| **uid.Cached 31-4-28** | 7.00 ns | 20.0 ns | 50.0 M | 268,435,456 | 63 | ✓ |",
			"| yitter/idgenerator-go | 17.0 µs * | 17.0 µs * | 58.8 k | 59,000 | 63 | ✓ |",
			"| edwingeng/wuid | 9.00 ns | 40.0 ns | 25.0 M | no limit | 63 | |",
			"Test Processor", "bench/README.md", "<!-- bench: begin", "<!-- bench: end -->",
		} {
			if !strings.Contains(squeeze(string(b)), want) {
				t.Errorf("the snippet lacks %q:\n%s", want, b)
			}
		}
	}
}

// What is saved is what the report loads, every chart that is shown is written, and its texts have
// room in a font as wide as DejaVu Sans.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir, want := t.TempDir(), met(false)
	err := errors.Join(result.Save(dir, want.through), result.Save(dir, want.unique),
		result.Save(dir, want.latency), result.Save(dir, want.time), result.Save(dir, want.table),
		result.Save(dir, want.origin), result.Save(dir, want.tuning))
	if err != nil {
		t.Fatal(err)
	}
	r, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	stale := filepath.Join(root, "docs", "charts", "stale.svg")
	if err := errors.Join(os.Mkdir(filepath.Join(root, "bench"), 0o700),
		os.MkdirAll(filepath.Dir(stale), 0o700), os.WriteFile(stale, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(root); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("a chart that nothing shows is left")
	}
	shown := 0
	for _, name := range []string{
		"bench/README.md", "docs/charts/README-snippet.txt", "docs/charts/README-snippet.zh-CN.txt",
	} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "bench/README.md" && string(text) != render(t, want) {
			t.Error("the page from the saved results is another one")
		}
		links := strings.ReplaceAll(string(text), "../docs/charts/", "docs/charts/")
		for _, part := range strings.Split(links, "](docs/charts/")[1:] {
			chart, _, _ := strings.Cut(part, ")")
			shown++
			checkChart(t, filepath.Join(root, "docs", "charts", chart))
		}
	}
	if shown < 10 {
		t.Errorf("%d charts are shown, want 10 and more", shown)
	}
}

// checkChart fails on a chart that is not well-formed, has no opaque ground, or a text beyond its
// edge.
func checkChart(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	var doc struct {
		Width float64 `xml:"width,attr"`
		Rects []struct {
			Fill string `xml:"fill,attr"`
		} `xml:"rect"`
		Texts []struct {
			X      float64 `xml:"x,attr"`
			Anchor string  `xml:"text-anchor,attr"`
			Size   string  `xml:"font-size,attr"`
			Text   string  `xml:",chardata"`
		} `xml:"text"`
	}
	if err := xml.Unmarshal(b, &doc); err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	s := string(b)
	if len(doc.Rects) == 0 || doc.Rects[0].Fill != "#fff" || strings.Contains(s, "NaN") || strings.Contains(s, "Inf") {
		t.Errorf("%s: no white ground, or a coordinate that is no number", path)
	}
	for _, x := range doc.Texts {
		size, err := strconv.ParseFloat(x.Size, 64)
		if err != nil {
			size = 13
		}
		wide := 0.65 * size * float64(utf8.RuneCountInString(x.Text))
		left := x.X - map[string]float64{"start": 0, "middle": wide / 2, "end": wide}[x.Anchor]
		if left < 0 || left+wide > doc.Width {
			t.Errorf("%s: %q reaches from %.0f to %.0f, want it within %v",
				filepath.Base(path), x.Text, left, left+wide, doc.Width)
		}
	}
}

func TestGrid(t *testing.T) {
	t.Parallel()
	g := grid{head: []string{"a", "µ"}}
	g.add("long text", "1")
	g.add("short")
	want := "| a         |   µ |\n| --------- | --: |\n| long text |   1 |\n| short     |     |\n"
	if got := g.String(); got != want {
		t.Errorf("grid is\n%swant\n%s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ got, want string }{
		{ns(0), "-"}, {ns(math.NaN()), "-"}, {ns(5.123), "5.12 ns"}, {ns(99.96), "100 ns"},
		{ns(12_340), "12.3 µs"}, {ns(2.5e6), "2.50 ms"}, {ns(3e9), "3.00 s"},
		{perSecond(25_600), "25.6 k/s"}, {perSecond(195.4e6), "195 M/s"}, {perSecond(0.98), "0.98 /s"},
		{perSecond(math.NaN()), "-"},
		{three(39_060), "39,060"}, {three(math.NaN()), "-"}, {three(0), "0"}, {three(9.994), "9.99"},
		{roundTime(100), "100 ns"}, {roundTime(1e4), "10 µs"}, {roundTime(1e6), "1 ms"},
		{roundTime(1e10), "10 s"},
		{millions(999_999), "999999"}, {millions(5_000_000), "5.00 million"},
		{goroutineText(1), "one goroutine"}, {goroutineText(8), "8 goroutines"}, {loadText(2, 1), "1 on 2"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
