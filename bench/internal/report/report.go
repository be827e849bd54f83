// Package report turns raw results into the page, the charts and the README's table.
package report

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
	"github.com/uidring/uidring/internal/human"
)

// Report is what the results say, by suite. Its exported methods are what the templates call.
type Report struct {
	files  map[string]*result.File
	charts map[string]*chart // by path: the templates add them
}

// Load reads all results in dir. A suite without results leaves its part of the report empty.
func Load(dir string) (*Report, error) {
	r := &Report{files: map[string]*result.File{}, charts: map[string]*chart{}}
	for _, name := range result.Suites() {
		f, err := result.Load(dir, name)
		if err != nil {
			return nil, err
		}
		r.files[name] = f
	}
	return r, nil
}

// The templates hold the prose; all figures in them are calls of the Report's methods.
//
//go:embed *.tmpl
var files embed.FS

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"three": three, "show": show, "on": suite.On, "grid": newGrid, "sum": sum, "short": human.Short,
}).ParseFS(files, "*.tmpl"))

// Write writes the page and, below docs, the charts and the READMEs' parts, in a repository. The
// charts that are there are replaced.
func (r *Report) Write(root string) error {
	charts := filepath.Join(root, "docs", "charts")
	err := errors.Join(os.RemoveAll(charts), os.MkdirAll(charts, 0o755))
	write := func(name, path string, data any) {
		var b bytes.Buffer
		if err == nil {
			err = templates.ExecuteTemplate(&b, name, data)
		}
		if err == nil {
			text := append(bytes.TrimRight(b.Bytes(), "\n"), '\n')
			err = os.WriteFile(filepath.Join(root, path), text, 0o644)
		}
	}
	write("page.tmpl", "bench/README.md", r)
	write("readme.tmpl", "docs/charts/README-snippet.txt", r)
	write("readme.zh-CN.tmpl", "docs/charts/README-snippet.zh-CN.txt", r)
	for path, c := range r.charts {
		write("chart.tmpl", path, c)
	}
	return err
}

// Meta says what a suite was measured on.
func (r *Report) Meta(suite string) result.Meta { return r.files[suite].Meta }

// Runs says on what each suite was measured that has results, in the order of the report.
func (r *Report) Runs() (out []result.Meta) {
	for _, name := range result.Suites() {
		if m := r.Meta(name); m.Suite != "" {
			out = append(out, m)
		}
	}
	return out
}

// Minutes returns how long these suites took together, or all but anchors for no names.
func (r *Report) Minutes(suites ...string) float64 {
	total := 0.0
	for _, m := range r.Runs() {
		if slices.Contains(suites, m.Suite) || len(suites) == 0 && m.Suite != "anchors" {
			total += m.Seconds
		}
	}
	return math.Ceil(total / 60)
}

// Procs returns the number of processors of the throughput suite.
func (r *Report) Procs() int { return max(1, r.Meta("throughput").CPUs) }

// Quantile returns a quantile of a cell, between 0 and 1.
func (r *Report) Quantile(suite, table, name, column string, q float64) float64 {
	return result.Quantile(r.files[suite].Get(table, name, column).Values, q)
}

// Ns returns the median of wall nanoseconds per id. Generators in Java are of another suite.
func (r *Report) Ns(name string, goroutines, procs int) float64 {
	if strings.HasSuffix(name, "(Java)") {
		return 1e3 / r.Quantile("anchors", "anchors", name, fmt.Sprint(goroutines), 0.5)
	}
	return r.Quantile("throughput", "pace", name, suite.On(goroutines, procs), 0.5)
}

// Table is a table of a suite: a line for each name, a column for each that is asked for, or for
// all. Cells are medians, but for the longest of all.
func (r *Report) Table(suite, table, head string, columns ...string) *grid {
	var names []string
	all := len(columns) == 0
	for _, row := range r.files[suite].Rows {
		if row.Table == table && !slices.Contains(names, row.Name) {
			names = append(names, row.Name)
		}
		if row.Table == table && all && !slices.Contains(columns, row.Column) {
			columns = append(columns, row.Column)
		}
	}
	g := newGrid(append([]string{head}, columns...)...)
	for _, name := range names {
		line := []string{name}
		for _, column := range columns {
			row, q := r.files[suite].Get(table, name, column), 0.5
			if column == "longest" {
				q = 1
			}
			cell := show(result.Quantile(row.Values, q), row.Unit)
			if row.Err != "" {
				cell = "failed"
			}
			line = append(line, cell)
		}
		g.lines = append(g.lines, line)
	}
	return g
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

// Ratio is what a contender costs under a load in units of a floor under another, round by round.
func (r *Report) Ratio(name, load, floor, other string) Paired {
	f := r.files["throughput"]
	return paired(f.Get("pace", name, load), f.Get("pace", floor, other), "", result.Ratio)
}

// Row is a contender as a line of a table shows it.
type Row struct {
	contender.Contender
	of *Report
}

// Rows returns those of these contenders, or of all, that have results.
func (r *Report) Rows(names ...string) (out []Row) {
	for _, x := range contender.Pick(names...) {
		if !math.IsNaN(r.Ns(x.Name, 1, 1)) {
			out = append(out, Row{x, r})
		}
	}
	return out
}

// Time is the time of an id, with the mark of what the layout can sustain.
func (x Row) Time(goroutines, procs int) string {
	v := x.of.Ns(x.Name, goroutines, procs)
	return strings.TrimSpace(show(v, "ns") + " " + x.Rate.Mark(1e9/v))
}

// Sustained is the ids a second that the layout has room for.
func (x Row) Sustained() string {
	switch {
	case x.Rate.PerSecond > 0:
		return human.Count(int64(math.Round(x.Rate.PerSecond)))
	case x.Bits > 0:
		return "no limit"
	}
	return ""
}

// Chart adds a chart of the ids a second of own generators and other libraries, and returns its
// path.
func (r *Report) Chart(name string, goroutines int) string {
	var bars []bar
	for _, x := range r.Rows() {
		if colours[x.Group] == "" || x.Group == contender.Floor && x.Name != contender.AddCalled {
			continue
		}
		v := r.Ns(x.Name, goroutines, r.Procs())
		bars = append(bars, bar{Label: strings.TrimPrefix(x.Name, "floor/"), Value: 1e3 / v,
			Text:  strings.TrimSpace(three(1e3/v) + " " + x.Rate.Mark(1e9/v)),
			Color: colours[x.Group]})
	}
	path := fmt.Sprintf("docs/charts/%s.svg", name)
	r.charts[path] = newChart(fmt.Sprintf("Ids a second, goroutines: %d", goroutines),
		"million ids a second; * the limit of its layout; † more than its layout can sustain", bars)
	return path
}
