package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestReport: the report shows the figures of the file, all of them and no others, and those of a
// good run.
func TestReport(t *testing.T) {
	t.Parallel()
	r, err := readResult("results/soak.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text),
		"<!-- soak: go run ./e2e/soak -show e2e/soak/results/soak.json -->\n\n")
	got, _, closed := strings.Cut(rest, "\n<!-- end of soak -->")
	if !found || !closed {
		t.Fatal("docs/reliability.md has lost the marks around the soak's figures")
	}
	if want := r.markdown(); got != want {
		t.Errorf("docs/reliability.md has\n%s\nwant what soak -show prints:\n%s", got, want)
	}
	wantGood(t, r)
}

// TestReportRows: the report shows the figures of the runs on other authorities.
func TestReportRows(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("results/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("results are %q, %v, want two or more", files, err)
	}
	for _, file := range files {
		r, err := readResult(file)
		if err != nil {
			t.Fatal(err)
		}
		wantGood(t, r)
		if r.Authority != "" && !strings.Contains(string(text), "\n"+r.row()+" ["+filepath.Base(file)+"]") {
			t.Errorf("docs/reliability.md lacks %s\n%s", file, r.row())
		}
	}
}

// wantGood fails the test if a run found something that must not happen.
func wantGood(t *testing.T, r *result) {
	t.Helper()
	if r.Duplicates != 0 || r.Foreign != 0 || r.Outside != 0 || r.Overlap != "" || r.Windows == 0 ||
		len(r.Failures) != 0 || r.Broken != "" || r.IDs == 0 {
		t.Errorf("the report shows a bad run: %+v", r)
	}
}
