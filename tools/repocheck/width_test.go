package repocheck

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// The columns that a line may have, where a tab counts as four.
const (
	codeWidth = 100 // of Go code and of the prose of documents
	testWidth = 120 // of tests
)

// spanPattern matches what a document's line cannot be broken in.
var spanPattern = regexp.MustCompile("`[^`]*`|\\]\\([^)]*\\)")

// printedPattern matches what a document has from a command's output.
var printedPattern = regexp.MustCompile(`(?s)<!-- \w+: go run .*?<!-- end of \w+ -->`)

// TestWidth holds code and documents to lines that fit a page. A line that cannot be broken may be
// longer: one with a raw string, a table's row, a heading, a single long word.
func TestWidth(t *testing.T) {
	t.Parallel()
	for _, file := range find(t, func(path string) bool { return strings.HasSuffix(path, ".go") }) {
		if strings.Contains(file, "testdata/") {
			continue
		}
		most := codeWidth
		if strings.HasSuffix(file, "_test.go") {
			most = testWidth
		}
		for i, line := range strings.Split(read(t, file), "\n") {
			n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
			if n > most && !strings.Contains(line, "`") {
				t.Errorf("%s:%d has %d columns, want at most %d", file, i+1, n, most)
			}
		}
	}
	for _, file := range markdown(t) {
		if strings.HasPrefix(file, "docs/charts/") || file == "bench/README.md" || // generated
			strings.HasSuffix(file, ".zh-CN.md") || strings.Contains(file, "/results/") {
			continue
		}
		text := printedPattern.ReplaceAllString(benchPattern.ReplaceAllString(read(t, file), ""), "")
		for line := range strings.SplitSeq(prose(text), "\n") {
			if n := utf8.RuneCountInString(line); n > codeWidth && breakable(line) {
				t.Errorf("%s has a line of %d columns, want at most %d: %s", file, n, codeWidth, line)
			}
		}
	}
}

// breakable reports whether a document's line can be broken before its end.
func breakable(line string) bool {
	text := strings.TrimLeft(line, " -*0123456789.")
	if strings.HasPrefix(text, "|") || strings.HasPrefix(text, "#") || strings.HasPrefix(text, "<") ||
		strings.HasPrefix(line, "    ") { // code
		return false
	}
	return strings.Contains(spanPattern.ReplaceAllString(text, "x"), " ")
}

func TestBreakable(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"two words":         true,
		"| a | table |":     false,
		"# a heading":       false,
		"- [a](https://x)":  false,
		"- `a code span`":   false,
		"  - `a` and b":     true,
		"    code in words": false,
	} {
		if got := breakable(line); got != want {
			t.Errorf("breakable(%q) = %v, want %v", line, got, want)
		}
	}
}
