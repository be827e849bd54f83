package main

import (
	"os"
	"strings"
	"testing"
)

// TestReport: the report shows the figures of the file, all of them and no others, and those of a
// good run.
func TestReport(t *testing.T) {
	t.Parallel()
	r, err := readResult("../results/soak.json")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text),
		"<!-- segments: go run ./e2e/segment/soak -show e2e/segment/results/soak.json -->\n\n")
	got, _, closed := strings.Cut(rest, "\n<!-- end of segments -->")
	if !found || !closed {
		t.Fatal("docs/reliability.md has lost the marks around the figures of segments")
	}
	if want := r.markdown(); got != want {
		t.Errorf("docs/reliability.md has\n%s\nwant what soak -show prints:\n%s", got, want)
	}
	if r.Twice != 0 || r.Falls != 0 || len(r.Failures) != 0 || len(r.IDs) != len(kinds) {
		t.Errorf("the report shows a bad run: %+v", r)
	}
}
