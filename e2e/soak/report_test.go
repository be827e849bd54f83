package main

import (
	"os"
	"strings"
	"testing"
)

// TestReport: the figures of the report are those of the file, all of them and no others, and they are good.
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
	_, rest, found := strings.Cut(string(text), "<!-- soak: go run ./e2e/soak -show e2e/soak/results/soak.json -->\n\n")
	got, _, closed := strings.Cut(rest, "\n<!-- end of soak -->")
	if !found || !closed {
		t.Fatal("docs/reliability.md has lost the marks around the soak's figures")
	}
	if want := r.markdown(); got != want {
		t.Errorf("docs/reliability.md has\n%s\nwant what soak -show prints:\n%s", got, want)
	}
	if r.Duplicates != 0 || r.Foreign != 0 || len(r.Failures) != 0 || r.Broken || r.IDs == 0 {
		t.Errorf("the report shows a bad run: %+v", r)
	}
}
