package report_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bench/internal/result"
)

// loaded returns the report of files.
func loaded(t *testing.T, files ...*result.File) *report.Report {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		if err := f.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	r, err := report.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func file(suite string) *result.File {
	return &result.File{Meta: result.Meta{Suite: suite, CPUs: 2}}
}

// A table has a line for each name and the median of each cell, with its unit; an error says so.
func TestTable(t *testing.T) {
	t.Parallel()
	f := file("costs")
	for _, v := range []float64{1, 2, 9} {
		f.Add("memory", "a", "idle", "B", v*1024, nil)
	}
	f.Add("memory", "b", "idle", "B", 0, errors.New("no server"))
	f.Add("start", "c", "first id", "ns", 1500, nil)
	r := loaded(t, f)
	want := "| of  |   idle |\n| --- | -----: |\n| a   |  2 KiB |\n| b   | failed |\n"
	if got := r.Table("costs", "memory", "of").String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := r.Table("costs", "start", "of").String(); !strings.Contains(got, "1.50 µs") {
		t.Errorf("no 1.50 µs in\n%s", got)
	}
	if got := r.Table("costs", "linking", "of").String(); got != "| of  |\n| --- |\n" {
		t.Errorf("a table without rows: %q", got)
	}
}

// The time is that of the suites named, or of all that make bench runs.
func TestMinutes(t *testing.T) {
	t.Parallel()
	costs, keys, anchors := file("costs"), file("keys"), file("anchors")
	costs.Meta.Seconds, keys.Meta.Seconds, anchors.Meta.Seconds = 61, 60, 600
	r := loaded(t, costs, keys, anchors)
	for want, got := range map[float64]float64{3: r.Minutes(), 2: r.Minutes("costs"),
		11: r.Minutes("keys", "anchors")} {
		if got != want {
			t.Errorf("%v minutes, want %v", got, want)
		}
	}
}

// Each target is met at its bound and missed above.
func TestTargets(t *testing.T) {
	t.Parallel()
	f := func(ns, p9999 float64) *report.Report {
		through, latency := file("throughput"), file("latency")
		for range 5 {
			for _, load := range []string{"1 on 1", "1 on 2", "2 on 2"} {
				through.Add("pace", "floor/add", load, "ns", 2, nil)
				through.Add("pace", "uid.Cached", load, "ns", ns, nil)
			}
			through.Add("pace", "floor/time.Now", "1 on 2", "ns", 2, nil)
			through.Add("pace", "uid.Default 31-4-28", "1 on 2", "ns", ns/1.2, nil)
			latency.Add("closed", "the clock alone", "p99.99", "ns", 100, nil)
			latency.Add("closed", "uid.Cached", "p99.99", "ns", p9999, nil)
		}
		return loaded(t, through, latency)
	}
	verdicts := func(text string) (met, missed int) {
		return strings.Count(text, " met |"), strings.Count(text, "**missed**")
	}
	if met, missed := verdicts(targets(t, f(2.4, 1100))); met != 4 || missed != 0 {
		t.Errorf("at the bounds %d are met and %d missed, want 4 and 0", met, missed)
	}
	text := targets(t, f(2.5, 1200))
	if met, missed := verdicts(text); met != 0 || missed != 4 {
		t.Errorf("above the bounds %d are met and %d missed, want 0 and 4", met, missed)
	}
	_, reasons, _ := strings.Cut(text, "Why targets are missed")
	if strings.Count(reasons, "loads of the lane") != 1 || !strings.Contains(reasons, "time.Now") {
		t.Errorf("the reasons are\n%s", reasons)
	}
}

// targets returns that part of the page.
func targets(t *testing.T, r *report.Report) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(written(t, r), "bench", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## Targets\n")
	part, _, ok := strings.Cut(rest, "\n## ")
	if !ok {
		t.Fatalf("the page has no targets:\n%s", text)
	}
	return part
}

// written writes the report into a folder and returns that.
func written(t *testing.T, r *report.Report) string {
	t.Helper()
	to := t.TempDir()
	if err := os.MkdirAll(filepath.Join(to, "bench"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(to); err != nil {
		t.Fatal(err)
	}
	return to
}

// The page in the repository is that of its results: no figure is written by hand.
func TestPageIsOfItsResults(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..")
	r, err := report.Load(filepath.Join(root, "bench", "results"))
	if err != nil {
		t.Fatal(err)
	}
	to := written(t, r)
	for _, path := range []string{"bench/README.md", "docs/charts/README-snippet.txt",
		"docs/charts/README-snippet.zh-CN.txt", "docs/charts/readme.svg",
		"docs/charts/throughput-1.svg"} {
		want, err := os.ReadFile(filepath.Join(to, path))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, path))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not what the results say: run go run ./bench/cmd/bench -report (%v)",
				path, err)
		}
	}
}
