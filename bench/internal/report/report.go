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
	"three": three, "show": show, "on": suite.On, "sum": sum, "short": human.Short,
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

// Quick reports whether some of the results are from a quick run.
func (r *Report) Quick() bool {
	return slices.ContainsFunc(r.Runs(), func(m result.Meta) bool { return m.Quick })
}

// Minutes returns how long these suites took together, or all of them.
func (r *Report) Minutes(suites ...string) float64 {
	total := 0.0
	for _, m := range r.Runs() {
		if len(suites) == 0 || slices.Contains(suites, m.Suite) {
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

// Ns returns the median of wall nanoseconds per id.
func (r *Report) Ns(name string, goroutines, procs int) float64 {
	return r.Quantile("throughput", "pace", name, suite.On(goroutines, procs), 0.5)
}

// Table writes a table of a suite: a line for each name, a column for each that is asked for, or
// for all. Cells are medians.
func (r *Report) Table(suite, table, head string, columns ...string) string {
	return r.table(suite, table, head, columns).String()
}

func (r *Report) table(suite, table, head string, columns []string) grid {
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
	g := grid{append([]string{head}, columns...)}
	for _, name := range names {
		line := []string{name}
		for _, column := range columns {
			row := r.files[suite].Get(table, name, column)
			cell := show(result.Quantile(row.Values, 0.5), row.Unit)
			if row.Err != "" {
				cell = "failed"
			}
			line = append(line, cell)
		}
		g = append(g, line)
	}
	return g
}

// Sweep is the table of one of Baidu's sweeps, with the figures that it publishes.
func (r *Report) Sweep(table, head string, published ...float64) string {
	line := []string{"Baidu, published"}
	for _, v := range published {
		line = append(line, three(v))
	}
	return append(r.table("anchors", table, head, nil), line).String()
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
	return paired(f.Get("pace", name, load), f.Get("pace", floor, other), "",
		func(a, b float64) float64 { return a / b })
}

// Times is the median of what a contender costs one goroutine on all processors, in units of
// another.
func (r *Report) Times(name, floor string) float64 {
	load := suite.On(1, r.Procs())
	return r.Ratio(name, load, floor, load).median
}

// Contenders returns those that have results.
func (r *Report) Contenders() []contender.Contender {
	return slices.DeleteFunc(contender.All(), func(x contender.Contender) bool {
		return math.IsNaN(r.Ns(x.Name, 1, 1))
	})
}

// line is a contender's line: nanoseconds per id with their marks, further cells, and the ids a
// second that its layout has room for.
func line(name string, x contender.Contender, ns []float64, more ...string) []string {
	out := []string{name}
	for _, v := range ns {
		out = append(out, strings.TrimSpace(show(v, "ns")+" "+x.Rate.Mark(1e9/v)))
	}
	sustained := ""
	switch {
	case x.Rate.PerSecond > 0:
		sustained = human.Count(int64(math.Round(x.Rate.PerSecond)))
	case x.Bits > 0:
		sustained = "no limit"
	}
	return append(append(out, more...), sustained)
}

// Throughput is the table of all contenders that make one id a call, or of those that make many.
func (r *Report) Throughput(batches bool, floor string) string {
	n, group := r.Procs(), contender.Batch
	g := grid{{"time of an id", "1 on 1", suite.On(1, n), suite.On(n, n) + ", wall", "× " + floor,
		"sustained ids/s"}}
	for _, x := range r.Contenders() {
		if batches != (x.Group == contender.Batch) {
			continue
		}
		if group != x.Group {
			g, group = append(g, []string{"**" + string(x.Group) + "**"}), x.Group
		}
		ns := []float64{r.Ns(x.Name, 1, 1), r.Ns(x.Name, 1, n), r.Ns(x.Name, n, n)}
		price := r.Ratio(x.Name, suite.On(1, n), x.Floor, suite.On(1, n))
		g = append(g, line(x.Name, x, ns, price.String()))
	}
	return g.String()
}

// Readme is the README's table. It begins with the layout that borrows nothing. A rate beyond what
// a layout sustains has a mark.
func (r *Report) Readme() string {
	n := r.Procs()
	g := grid{{"", "1 goroutine", fmt.Sprintf("%d goroutines", n), "sustained ids/s", "bits"}}
	add := func(name string, x contender.Contender, one, all float64) {
		bits := ""
		if x.Bits > 0 {
			bits = fmt.Sprint(x.Bits)
		}
		g = append(g, append(line(name, x, []float64{one, all}), bits))
	}
	for _, x := range contender.Pick(contender.OneLaneWide, contender.ManyLanesWide,
		contender.DefaultWide, contender.AddCalled, contender.WUID, contender.Bwmarrin,
		contender.Sony, "rs/xid", contender.UUID7, contender.GoUUID7, "google/uuid v4") {
		name := x.Name
		switch x.Group {
		case contender.Own:
			name = "**" + name + "**"
		case contender.Floor:
			name = "*a function that adds one*"
		}
		add(name, x, r.Ns(x.Name, 1, n), r.Ns(x.Name, n, n))
	}
	for _, x := range []contender.Contender{
		{Name: suite.Baidu, Bits: 63, Rate: contender.Rate{PerSecond: 1 << 13}}, // 29-21-13
		{Name: suite.Chain, Bits: 63}, {Name: suite.Leaf, Bits: 63}} {
		ns := func(threads int) float64 {
			return 1e3 / r.Quantile("anchors", "anchors", x.Name, fmt.Sprint(threads), 0.5)
		}
		add(x.Name, x, ns(1), ns(n))
	}
	return g.String()
}

// Chart adds a chart of the ids a second of own generators and other libraries, and returns its
// path.
func (r *Report) Chart(name string, goroutines int) string {
	var bars []bar
	for _, x := range r.Contenders() {
		if colors[x.Group] == "" || x.Group == contender.Floor && x.Name != contender.AddCalled {
			continue
		}
		v := r.Ns(x.Name, goroutines, r.Procs())
		bars = append(bars, bar{Label: strings.TrimPrefix(x.Name, "floor/"), Value: 1e3 / v,
			Text:  strings.TrimSpace(three(1e3/v) + " " + x.Rate.Mark(1e9/v)),
			Color: colors[x.Group]})
	}
	path := fmt.Sprintf("docs/charts/%s.svg", name)
	r.charts[path] = newChart(fmt.Sprintf("Ids a second, goroutines: %d", goroutines),
		"million ids a second; * the limit of its layout; † more than its layout can sustain", bars)
	return path
}
