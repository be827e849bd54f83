package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/test/internal/soak"
)

// TestReport: the report shows the figures of the file, all of them and no others, and those of a
// good run.
func TestReport(t *testing.T) {
	t.Parallel()
	r := soak.Shown[result](t, "../..", "soak", "test/soak", "test/soak/results/soak.json")
	wantGood(t, r)
}

// TestReportRows: the report shows the figures of the runs on other authorities.
func TestReportRows(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("results/*.json")
	if err != nil || len(files) < 2 {
		t.Fatalf("results are %q, %v, want two or more", files, err)
	}
	for _, file := range files {
		r, err := soak.Read[result](file)
		if err != nil {
			t.Fatal(err)
		}
		wantGood(t, r)
		if r.Authority != "" && !strings.Contains(string(text), "\n"+r.row()+" ["+filepath.Base(file)+"]") {
			t.Errorf("test/soak/README.md lacks %s\n%s", file, r.row())
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
