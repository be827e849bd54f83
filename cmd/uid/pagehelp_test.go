package main

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var writePage = flag.Bool("page", false, "write the commands' help into docs/command.md")

var (
	entryStart = regexp.MustCompile(`^ +(-\w, )?--([a-z-]+)`)
	helpPart   = regexp.MustCompile(`(?s)(<!-- help: ([a-z ,]+) -->\n).*?(<!-- end of help -->)`)
)

// sharedFlags are those that several commands have with the same meaning: the page has them once,
// below "flags".
var sharedFlags = []string{"help", "version", "dsn", "timeout", "layout", "epoch", "tick", "source", "server"}

// helpEntries returns the flags in the help of a command, each as its lines, and their names.
func (b *bench) helpEntries(t *testing.T, command string) (names []string, entries []string) {
	t.Helper()
	help := b.run(t.Context(), append(strings.Fields(command), "--help")...).stdout
	_, flags, _ := strings.Cut(help, "\nFlags:\n")
	for line := range strings.Lines(flags) {
		switch m := entryStart.FindStringSubmatch(line); {
		case m != nil:
			names = append(names, m[2])
			entries = append(entries, line)
		case strings.TrimSpace(line) != "" && strings.HasPrefix(line, "     "):
			entries[len(entries)-1] += line
		}
	}
	return names, entries
}

// helpFor returns what the page has of commands, which commas separate: their own flags, each once.
func (b *bench) helpFor(t *testing.T, commands string) string {
	t.Helper()
	seen := map[string]bool{}
	var text strings.Builder
	if commands == "flags" {
		for _, command := range []string{"gen", "segment list"} {
			names, entries := b.helpEntries(t, command)
			for i, name := range names {
				if slices.Contains(sharedFlags[2:], name) && !seen[name] {
					seen[name] = true
					text.WriteString(entries[i])
				}
			}
		}
	} else {
		for command := range strings.SplitSeq(commands, ", ") {
			names, entries := b.helpEntries(t, command)
			for i, name := range names {
				if !slices.Contains(sharedFlags, name) && !seen[name] {
					seen[name] = true
					text.WriteString(entries[i])
				}
			}
		}
	}
	if text.Len() == 0 {
		t.Errorf("%s has no flags of its own", commands)
	}
	return "\n```text\n" + text.String() + "```\n\n"
}

// TestPageHelp: docs/command.md has the flags of the help, word for word.
func TestPageHelp(t *testing.T) {
	const file = "../../docs/command.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	parts := 0
	want := helpPart.ReplaceAllStringFunc(string(text), func(part string) string {
		parts++
		m := helpPart.FindStringSubmatch(part)
		return m[1] + b.helpFor(t, m[2]) + m[3]
	})
	if parts < 10 {
		t.Errorf("%s has the help of %d commands, want 10 or more", file, parts)
	}
	if want == string(text) {
		return
	}
	if !*writePage {
		t.Fatalf("%s differs from the help; \"go test ./cmd/uid -run TestPageHelp -page\" writes it anew", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
