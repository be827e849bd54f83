package repocheck

import (
	"net/url"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	linkPattern    = regexp.MustCompile(`!?\[[^\]]*\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	headingPattern = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	fencePattern   = regexp.MustCompile("(?ms)^ *```.*?^ *``` *$")
	srcPattern     = regexp.MustCompile(`(?:src|srcset|href)="([^"]+)"`)
)

// prose returns text without its fenced code blocks.
func prose(text string) string { return fencePattern.ReplaceAllString(text, "") }

// headings returns the headings of a Markdown text, without their marks.
func headings(text string) []string {
	var h []string
	for _, m := range headingPattern.FindAllStringSubmatch(prose(text), -1) {
		h = append(h, m[1])
	}
	return h
}

// anchor returns the fragment under which a heading can be linked to, by GitHub's rule.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

// TestLinks checks that every link of every document that does not leave the repository leads to a
// file, and to a heading where it names one.
func TestLinks(t *testing.T) {
	t.Parallel()
	checked := 0
	for _, file := range markdown(t) {
		text := prose(read(t, file))
		links := append(linkPattern.FindAllStringSubmatch(text, -1), srcPattern.FindAllStringSubmatch(text, -1)...)
		for _, m := range links {
			u, err := url.Parse(m[1])
			if err != nil {
				t.Errorf("%s: link %q: %v", file, m[1], err)
				continue
			}
			if u.Scheme != "" || u.Host != "" {
				continue
			}
			checked++
			target := file
			if u.Path != "" {
				target = path.Join(path.Dir(file), u.Path)
			}
			if strings.HasPrefix(target, "..") || !exists(target) {
				t.Errorf("%s: link %q leads to %s, which does not exist", file, m[1], target)
				continue
			}
			if u.Fragment == "" || !strings.HasSuffix(target, ".md") {
				continue
			}
			found := false
			for _, h := range headings(read(t, target)) {
				found = found || anchor(h) == u.Fragment
			}
			if !found {
				t.Errorf("%s: link %q: %s has no such heading", file, m[1], target)
			}
		}
	}
	if checked == 0 {
		t.Error("no link found: this test looks in the wrong place")
	}
}

func TestAnchor(t *testing.T) {
	t.Parallel()
	for heading, want := range map[string]string{
		"How to choose bits":         "how-to-choose-bits",
		"`uid.Cached`, step by step": "uidcached-step-by-step",
		"位数怎么选":                      "位数怎么选",
	} {
		if got := anchor(heading); got != want {
			t.Errorf("anchor(%q): got %q, want %q", heading, got, want)
		}
	}
}
