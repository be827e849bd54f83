// Package report turns raw results, and nothing else, into the page docs/benchmarks.md, the charts beside it, and the
// part of them that the README shows.
package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/uidring/uidring/bench/internal/result"
)

// Report is what the results say.
type Report struct {
	sections map[string]string // Markdown by suite
	metas    map[string]result.Meta
	charts   []namedChart
	targets  []Target
	snippet  string
}

// namedChart is a chart and the name of its file.
type namedChart struct {
	name string
	svg  []byte
}

// Load reads all results in dir and works the report out.
func Load(dir string) (*Report, error) {
	r := &Report{sections: map[string]string{}, metas: map[string]result.Meta{}}
	through, err := section(r, dir, result.Throughput, r.throughput)
	errs := []error{err}
	unique, err := section(r, dir, result.Unique, r.unique)
	errs = append(errs, err)
	_, err = section(r, dir, result.Offered, r.offered)
	errs = append(errs, err)
	_, err = section(r, dir, result.Latency, r.latency)
	errs = append(errs, err)
	_, err = section(r, dir, result.Original, r.original)
	errs = append(errs, err)
	_, err = section(r, dir, result.Tuning, r.tuning)
	errs = append(errs, err)
	honest, err := section(r, dir, result.Time, r.time)
	errs = append(errs, err)
	_, err = section(r, dir, result.Table, r.table)
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.targets = Targets(through, unique, honest)
	r.snippet, err = r.readme(through)
	return r, err
}

// section reads one suite's file and has it written up; a file that is not there leaves its section out.
func section[R any](r *Report, dir, suite string, write func(result.File[R]) (string, error)) ([]R, error) {
	f, ok, err := result.Load[R](dir, suite)
	if err != nil || !ok {
		return nil, err
	}
	text, err := write(f)
	if err != nil {
		return nil, fmt.Errorf("report: %s: %w", suite, err)
	}
	r.metas[suite], r.sections[suite] = f.Meta, text
	return f.Rows, nil
}

// addChart keeps a chart and returns the Markdown that shows it.
func (r *Report) addChart(name, alt string, svg []byte, err error) (string, error) {
	if err != nil {
		return "", err
	}
	r.charts = append(r.charts, namedChart{name, svg})
	return fmt.Sprintf("![%s](charts/%s.svg)\n", alt, name), nil
}

// Section returns the Markdown of one suite; empty without results.
func (r *Report) Section(suite string) string { return r.sections[suite] }

// TargetTable returns the Markdown of the targets.
func (r *Report) TargetTable() string { return targetTable(r.targets) }

// titles are the sections' headings.
func title(suite string) string {
	return map[string]string{
		result.Throughput: "Throughput",
		result.Unique:     "Are they unique?",
		result.Offered:    "Latency at 100,000 ids a second",
		result.Latency:    "Latency",
		result.Original:   "The original's three tables",
		result.Tuning:     "Tuning",
		result.Time:       "Honest time",
		result.Table:      "What an id does to a table",
	}[suite]
}

// Markdown returns the page.
func (r *Report) Markdown() string {
	var b strings.Builder
	b.WriteString("# Benchmarks\n\n<!-- Made by `go run ./bench/cmd/bench -report` from bench/results. Edits are lost. -->\n\n")
	b.WriteString("Every figure on this page comes from the raw results in [`bench/results`](../bench/results). ")
	b.WriteString("`make bench` measures them again, `make bench-quick` does so in reduced form in under two minutes.\n\n")
	b.WriteString(r.provenance())
	if len(r.targets) > 0 {
		b.WriteString("## Targets\n\n" + r.TargetTable() + "\n" + targetNote(r.targets) + "\n")
	}
	for _, s := range result.Suites() {
		if text := r.sections[s]; text != "" {
			b.WriteString("## " + title(s) + "\n\n" + text + "\n" + footer(r.metas[s]) + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// provenance says what was measured on what, once if it was the same for all suites.
func (r *Report) provenance() string {
	var machines []string
	quick := false
	for _, s := range result.Suites() {
		m, ok := r.metas[s]
		if !ok {
			continue
		}
		quick = quick || m.Quick
		line := fmt.Sprintf("%s, %d processors, GOMAXPROCS %d, %s, %s", m.Processor, m.CPUs, m.GOMAXPROCS, m.GoVersion, m.Platform)
		if len(machines) == 0 || machines[len(machines)-1] != line {
			machines = append(machines, line)
		}
	}
	var b strings.Builder
	for _, m := range machines {
		b.WriteString("Measured on: " + m + ".\n")
	}
	if quick {
		b.WriteString("\n**Some of these results are from a quick run: few and short measurements, good for a look and not for a decision.** " +
			"The line below each section says which.\n")
	}
	b.WriteString("\nA figure is the median of its repetitions; ± is half the width of the 95 percent confidence interval, which assumes " +
		"nothing about the distribution, or of the whole range where the repetitions are too few for one. Contenders are measured in turn, " +
		"round by round, so that a disturbance of the machine hits all of them alike.\n\n")
	return b.String()
}

// footer says what a section was measured with.
func footer(m result.Meta) string {
	form := "full run"
	if m.Quick {
		form = "quick run"
	}
	return fmt.Sprintf("<sub>%s of %s, commit %s, `%s`, %s.</sub>\n", form, m.Date.Format("2006-01-02 15:04 UTC"), m.Commit, m.Command, seconds(m.Seconds))
}

// Write writes the page, the charts and the README's part below docs.
func (r *Report) Write(docs string) error {
	charts := filepath.Join(docs, "charts")
	if err := os.MkdirAll(charts, 0o755); err != nil {
		return err
	}
	for _, c := range r.charts {
		if err := os.WriteFile(filepath.Join(charts, c.name+".svg"), c.svg, 0o644); err != nil {
			return err
		}
	}
	if r.snippet != "" {
		if err := os.WriteFile(filepath.Join(charts, "README-snippet.md"), []byte(r.snippet), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(docs, "benchmarks.md"), []byte(r.Markdown()), 0o644)
}
