package repocheck

import (
	"strings"
	"testing"
	"unicode"
)

// pages are the nine pages of docs. user is whether a user reads them from the start to the end, and
// most is the most words of such a page.
var pages = []struct {
	file string
	user bool
}{
	{"docs/workers.md", true}, {"docs/operations.md", true}, {"docs/moving.md", true},
	{"docs/segment.md", true}, {"docs/service.md", true}, {"docs/command.md", false},
	{"docs/design.md", false}, {"docs/decisions.md", false}, {"docs/concurrency.md", false},
}

// words counts what spaces divide in a page, code and tables included. What has no letter and no
// digit, as the marks of tables and lists, is no word.
func words(text string) (n int) {
	for word := range strings.FieldsSeq(text) {
		if strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			n++
		}
	}
	return n
}

// TestWords: a page that is read has 2,500 words at most, the README 1,500, all pages 25,000.
func TestWords(t *testing.T) {
	t.Parallel()
	all := 0
	for _, p := range pages {
		n := words(read(t, p.file))
		t.Logf("%s: %d words", p.file, n)
		if all += n; p.user && n > 2500 {
			t.Errorf("%s has %d words, want at most 2500", p.file, n)
		}
	}
	for _, file := range find(t, func(path string) bool {
		return strings.HasPrefix(path, "docs/") && strings.Count(path, "/") == 1 &&
			strings.HasSuffix(path, ".md") && !strings.HasSuffix(path, ".zh-CN.md")
	}) {
		known := false
		for _, p := range pages {
			known = known || p.file == file
		}
		if !known {
			t.Errorf("%s is not among the pages that are counted", file)
		}
	}
	if all > 25000 {
		t.Errorf("the pages have %d words, want at most 25000", all)
	}
	if n := words(read(t, english)); n > 1500 {
		t.Errorf("%s has %d words, want at most 1500", english, n)
	}
}
