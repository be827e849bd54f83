// Package report turns raw results into the page, the charts and the README's table.
package report

import (
	"bytes"
	_ "embed" // the templates
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/uidring/uidring/bench/internal/chart"
	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
	"github.com/uidring/uidring/internal/human"
)

// Report is what the results say, by suite. Its exported methods are what the templates call.
type Report struct {
	files  map[string]*result.File
	charts map[string][]byte // by name, as the templates ask for them
}

// Load reads all results in dir. A suite without results leaves its part of the report empty.
func Load(dir string) (*Report, error) {
	r := &Report{files: map[string]*result.File{}, charts: map[string][]byte{}}
	for _, name := range result.Suites() {
		f, err := result.Load(dir, name)
		if err != nil {
			return nil, err
		}
		r.files[name] = f
	}
	return r, nil
}

// The templates. They hold the prose; all figures in them are calls of the Report's methods.
var (
	//go:embed page.tmpl
	pageText string
	//go:embed readme.tmpl
	readmeText string
	//go:embed readme.zh-CN.tmpl
	readmeChineseText string
)

// Write writes the page and, below docs, the charts and the READMEs' parts, in a repository. The
// charts that are there are replaced.
func (r *Report) Write(root string) error {
	charts := filepath.Join(root, "docs", "charts")
	if err := os.RemoveAll(charts); err != nil {
		return err
	}
	if err := os.MkdirAll(charts, 0o755); err != nil {
		return err
	}
	for path, text := range map[string]string{
		filepath.Join(root, "bench", "README.md"):         pageText,
		filepath.Join(charts, "README-snippet.txt"):       readmeText,
		filepath.Join(charts, "README-snippet.zh-CN.txt"): readmeChineseText,
	} {
		out, err := r.render(text)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, out, 0o644); err != nil {
			return err
		}
	}
	for name, svg := range r.charts {
		if err := os.WriteFile(filepath.Join(charts, name+".svg"), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// render executes a template on r.
func (r *Report) render(text string) ([]byte, error) {
	t, err := template.New("").Funcs(template.FuncMap{
		"list": func(s ...string) []string { return s }, "three": three,
		"ns":    func(v float64) string { return show(v, "ns") },
		"bytes": func(v float64) string { return show(v, "B") },
	}).Parse(text)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, r); err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	return append(bytes.TrimRight(b.Bytes(), "\n"), '\n'), nil
}

// Has reports whether a suite has results.
func (r *Report) Has(suite string) bool { return len(r.files[suite].Rows) > 0 }

// Meta says what a suite was measured on.
func (r *Report) Meta(suite string) result.Meta { return r.files[suite].Meta }

// Quick reports whether some of the results are from a quick run.
func (r *Report) Quick() bool {
	for _, f := range r.files {
		if f.Meta.Quick {
			return true
		}
	}
	return false
}

// Procs returns the number of processors of the throughput suite.
func (r *Report) Procs() int { return max(1, r.Meta("throughput").CPUs) }

// Median returns the median of a cell.
func (r *Report) Median(suite, table, name, column string) float64 {
	return result.Median(r.files[suite].Get(table, name, column).Values)
}

// Least returns the least value of a cell.
func (r *Report) Least(suite, table, name, column string) float64 {
	return result.Quantile(r.files[suite].Get(table, name, column).Values, 0)
}

// Ns returns the median of wall nanoseconds per id.
func (r *Report) Ns(name string, goroutines, procs int) float64 {
	return r.Median("throughput", "pace", name, suite.On(goroutines, procs))
}

// Worst returns the largest value of a table's column.
func (r *Report) Worst(suite, table, column string) (worst float64) {
	for _, row := range r.files[suite].Rows {
		if row.Table == table && row.Column == column {
			worst = max(worst, slices.Max(append(row.Values, 0)))
		}
	}
	return worst
}

// Table writes a table of a suite: a line for each name, a column for each that is asked for, or
// for all. Cells are medians.
func (r *Report) Table(suite, table, head string, columns ...string) string {
	g := grid{{head}}
	var names []string
	for _, row := range r.files[suite].Rows {
		if row.Table == table && !slices.Contains(names, row.Name) {
			names = append(names, row.Name)
		}
		if row.Table == table && len(columns) == 0 && !slices.Contains(g[0][1:], row.Column) {
			g[0] = append(g[0], row.Column)
		}
	}
	if len(names) == 0 {
		return "Not measured.\n"
	}
	g[0] = append(g[0], columns...)
	for _, name := range names {
		line := []string{name}
		for _, column := range g[0][1:] {
			row := r.files[suite].Get(table, name, column)
			cell := show(result.Median(row.Values), row.Unit)
			if row.Err != "" {
				cell = "failed"
			}
			line = append(line, cell)
		}
		g = append(g, line)
	}
	return g.String()
}

// Sweep is the table of one of Baidu's sweeps, with the figures that it publishes.
func (r *Report) Sweep(table, head string, published ...float64) string {
	text := strings.TrimRight(r.Table("anchors", table, head), "\n")
	line := grid{{"Baidu, published"}}
	for _, v := range published {
		line[0] = append(line[0], three(v))
	}
	first, _, _ := strings.Cut(line.String(), "\n")
	return text + "\n" + first + "\n"
}

// KeyRatio returns the bytes of a secondary index in units of that of uid.Cached's keys, over all
// numbers of rows.
func (r *Report) KeyRatio(name string) float64 {
	sum := map[string]float64{}
	for _, row := range r.files["keys"].Rows {
		if row.Table == "secondary index" {
			sum[row.Name] += row.Values[0]
		}
	}
	return sum[name] / sum["uid.Cached BIGINT"]
}

// ratio is what one contender costs in units of another, round by round: the median and the 10th
// percentile of the rounds.
type ratio struct{ median, p10 float64 }

func (r *Report) ratio(name, floor string, goroutines, procs int) ratio {
	at := suite.On(goroutines, procs)
	f := r.files["throughput"]
	v := result.Ratios(f.Get("pace", name, at).Values, f.Get("pace", floor, at).Values)
	return ratio{result.Median(v), result.Quantile(v, 0.1)}
}

func (q ratio) String() string {
	if math.IsNaN(q.median) {
		return "-"
	}
	return fmt.Sprintf("%s (%s)", three(q.median), three(q.p10))
}

// Times is the median of what a contender costs in units of another.
func (r *Report) Times(name, floor string, goroutines, procs int) float64 {
	return r.ratio(name, floor, goroutines, procs).median
}

// marked returns nanoseconds per id with their mark.
func (r *Report) marked(x contender.Contender, goroutines, procs int) string {
	v := r.Ns(x.Name, goroutines, procs)
	return strings.TrimSpace(show(v, "ns") + " " + x.Rate.Mark(1e9/v))
}

// sustained returns the ids a second that the layout has room for.
func sustained(x contender.Contender) string {
	switch {
	case x.Bits == 0:
		return ""
	case x.Rate.PerSecond == 0:
		return "no limit"
	}
	return human.Count(int64(math.Round(x.Rate.PerSecond)))
}

// Throughput is the table of all contenders that make one id a call, or of those that make many.
func (r *Report) Throughput(batches bool) string {
	n := r.Procs()
	floor, group := contender.AddCalled, contender.Group("")
	g := grid{{"time of an id", "1 on 1", suite.On(1, n), suite.On(n, n) + ", wall",
		"× " + floor, "sustained ids/s"}}
	if batches {
		floor = contender.Store256
		g[0][4] = "× store loop"
	}
	for _, x := range contender.All() {
		if batches != (x.Group == contender.Batch) || math.IsNaN(r.Ns(x.Name, 1, 1)) {
			continue
		}
		if group != x.Group && !batches {
			g, group = append(g, []string{"**" + string(x.Group) + "**"}), x.Group
		}
		if strings.HasSuffix(x.Name, "1,024") {
			floor = contender.Store1024
		} else if batches {
			floor = contender.Store256
		}
		g = append(g, []string{x.Name, r.marked(x, 1, 1), r.marked(x, 1, n), r.marked(x, n, n),
			r.ratio(x.Name, floor, 1, n).String(), sustained(x)})
	}
	return g.String()
}

// Notes explains the rows that need it.
func (r *Report) Notes() string {
	var b strings.Builder
	for _, x := range contender.All() {
		if x.Note != "" && !math.IsNaN(r.Ns(x.Name, 1, 1)) {
			fmt.Fprintf(&b, "- `%s`: %s.\n", x.Name, x.Note)
		}
	}
	return b.String()
}

// Readme is the README's table. It begins with the layout that borrows nothing. A rate beyond what
// a layout sustains has a mark.
func (r *Report) Readme() string {
	n := r.Procs()
	g := grid{{"", "1 goroutine", fmt.Sprintf("%d goroutines", n), "sustained ids/s", "bits"}}
	for _, x := range contender.Pick(contender.OneLaneWide, contender.ManyLanesWide,
		contender.DefaultWide, contender.AddCalled, contender.WUID, contender.Bwmarrin,
		contender.Sony, "rs/xid", contender.UUID7, contender.GoUUID7, "google/uuid v4") {
		bits := ""
		if x.Bits > 0 {
			bits = fmt.Sprint(x.Bits)
		}
		name := x.Name
		switch {
		case strings.HasPrefix(name, "uid."):
			name = "**" + name + "**"
		case x.Group == contender.Floor:
			name = "*a function that adds one*"
		}
		g = append(g, []string{name, r.marked(x, 1, n), r.marked(x, n, n), sustained(x), bits})
	}
	for _, x := range []contender.Contender{
		{Name: suite.Baidu, Bits: 63, Rate: contender.Rate{PerSecond: 1 << 13}}, // 29-21-13
		{Name: suite.Chain, Bits: 63}, {Name: suite.Leaf, Bits: 63}} {
		line := []string{x.Name}
		for _, threads := range []int{1, n} {
			rate := r.Median("anchors", "anchors", x.Name, fmt.Sprint(threads))
			cell := show(1e3/rate, "ns") + " " + x.Rate.Mark(1e6*rate)
			line = append(line, strings.TrimSpace(cell))
		}
		g = append(g, append(line, sustained(x), fmt.Sprint(x.Bits)))
	}
	return g.String()
}

// Chart draws ids a second of own generators and other libraries, in the page or in the README.
func (r *Report) Chart(name string, goroutines int) string {
	var bars []chart.Bar
	for _, x := range contender.All() {
		v := r.Ns(x.Name, goroutines, r.Procs())
		if x.Group == contender.Batch || x.Group == contender.Floor &&
			x.Name != contender.AddCalled || math.IsNaN(v) {
			continue
		}
		color := map[contender.Group]int{contender.Own: 0, contender.Peer: 1, contender.Floor: 6}
		bars = append(bars, chart.Bar{Label: strings.TrimPrefix(x.Name, "floor/"), Value: 1e3 / v,
			Text:  strings.TrimSpace(three(1e3/v) + " " + x.Rate.Mark(1e9/v)),
			Color: chart.Palette(color[x.Group])})
	}
	title := fmt.Sprintf("Ids a second, goroutines: %d", goroutines)
	r.charts[name] = chart.Bars(title, "million ids a second; * the limit of its layout; "+
		"† more than its layout can sustain", bars)
	return fmt.Sprintf("docs/charts/%s.svg", name)
}

// Runs is the table of when each suite ran, on what and for how long.
func (r *Report) Runs() string {
	g := grid{{"suite", "date", "commit", "processor", "Go", "took"}}
	for _, name := range result.Suites() {
		if m := r.Meta(name); m.Suite != "" {
			g = append(g, []string{fmt.Sprintf("[%s](results/%[1]s.json)", m.Suite),
				m.Date.Format("2006-01-02 15:04"), m.Commit,
				fmt.Sprintf("%d × %s", m.CPUs, m.Processor), m.GoVersion,
				fmt.Sprintf("%.0f s", m.Seconds)})
		}
	}
	return g.String()
}

// Minutes returns how long suites took together, or all of them.
func (r *Report) Minutes(suites ...string) string {
	total := 0.0
	for name, f := range r.files {
		if len(suites) == 0 || slices.Contains(suites, name) {
			total += f.Meta.Seconds
		}
	}
	return fmt.Sprintf("%.0f", math.Ceil(total/60))
}

// Versions names the other libraries with their versions.
func (r *Report) Versions() string {
	var out []string
	for _, x := range contender.All() {
		if v := r.Meta("throughput").Modules[x.Module]; v != "" {
			out = append(out, strings.TrimPrefix(x.Module, "github.com/")+" "+v)
		}
	}
	return strings.Join(slices.Compact(out), ", ")
}
