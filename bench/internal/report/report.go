// Package report turns raw results into the page, the charts and the README's table.
package report

import (
	"bytes"
	_ "embed" // the templates
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/human"
)

// Report is what the results say. Its exported methods are what the templates call.
type Report struct {
	through result.File[result.ThroughputRow]
	unique  result.File[result.UniqueRow]
	latency result.File[result.LatencyRow]
	time    result.File[result.TimeRow]
	table   result.File[result.TableRow]
	origin  result.File[result.OriginalRow]
	tuning  result.File[result.TuningRow]

	charts map[string][]byte // by name, as the templates ask for them
}

// Load reads all results in dir. A suite without results leaves its part of the report empty.
func Load(dir string) (*Report, error) {
	r := &Report{charts: map[string][]byte{}}
	return r, errors.Join(
		load(dir, result.Throughput, &r.through), load(dir, result.Unique, &r.unique),
		load(dir, result.Latency, &r.latency), load(dir, result.Time, &r.time),
		load(dir, result.Table, &r.table), load(dir, result.Original, &r.origin),
		load(dir, result.Tuning, &r.tuning))
}

func load[R any](dir, suite string, into *result.File[R]) (err error) {
	*into, _, err = result.Load[R](dir, suite)
	return err
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
	for _, f := range []struct{ path, text string }{
		{filepath.Join(root, "bench", "README.md"), pageText},
		{filepath.Join(charts, "README-snippet.txt"), readmeText},
		{filepath.Join(charts, "README-snippet.zh-CN.txt"), readmeChineseText},
	} {
		text, err := r.render(f.text)
		if err != nil {
			return err
		}
		if err := os.WriteFile(f.path, text, 0o644); err != nil {
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
		"ns": ns, "three": three, "count": func(n int) string { return human.Count(int64(n)) },
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

// chart keeps a chart and returns the Markdown that shows it.
func (r *Report) chart(name, alt string, svg []byte) string {
	r.charts[name] = svg
	return fmt.Sprintf("![%s](../docs/charts/%s.svg)", alt, name)
}

// Meta says what the throughput was measured on.
func (r *Report) Meta() result.Meta { return r.through.Meta }

// Has reports whether a suite has results.
func (r *Report) Has(suite string) bool {
	for _, m := range r.metas() {
		if m.Suite == suite {
			return true
		}
	}
	return false
}

// Quick reports whether some of the results are from a quick run.
func (r *Report) Quick() bool {
	for _, m := range r.metas() {
		if m.Quick {
			return true
		}
	}
	return false
}

// metas returns the suites that have results.
func (r *Report) metas() []result.Meta {
	var out []result.Meta
	for _, m := range []result.Meta{r.through.Meta, r.unique.Meta, r.latency.Meta, r.time.Meta,
		r.table.Meta, r.origin.Meta, r.tuning.Meta} {
		if m.Suite != "" {
			out = append(out, m)
		}
	}
	return out
}

// Runs is the table of when each suite ran, on what and for how long.
func (r *Report) Runs() string {
	g := grid{head: []string{"suite", "date", "commit", "processor", "Go", "took", "command"}}
	for _, m := range r.metas() {
		g.add(fmt.Sprintf("[%s](results/%[1]s.json)", m.Suite),
			m.Date.Format("2006-01-02 15:04"),
			m.Commit, fmt.Sprintf("%d × %s", m.CPUs, m.Processor), m.GoVersion,
			fmt.Sprintf("%.0f s", m.Seconds), "`"+strings.ReplaceAll(m.Command, "|", `\|`)+"`")
	}
	return g.String()
}

// Notes lists what a reader must know of the contenders.
func (r *Report) Notes() string {
	var b bytes.Buffer
	for _, x := range contender.All() {
		if x.Note != "" && x.Group != contender.Batch {
			fmt.Fprintf(&b, "- `%s`: %s.\n", x.Name, x.Note)
		}
	}
	return b.String()
}

// Versions names the other libraries with their versions.
func (r *Report) Versions() string {
	var out []string
	for _, x := range contender.All() {
		if v := r.through.Meta.Modules[x.Module]; v != "" {
			text := strings.TrimPrefix(x.Module, "github.com/") + " " + v
			if !slices.Contains(out, text) {
				out = append(out, text)
			}
		}
	}
	return strings.Join(out, ", ")
}
