package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var writePage = flag.Bool("page", false, "write the commands' help into docs/command.md")

var (
	// A line of the help that goes on with the text of a flag is further to the right.
	entryStart = regexp.MustCompile(`^(?:  -\w, |      )--([a-z-]+)`)
	helpPart   = regexp.MustCompile(`(?s)(<!-- help: ([a-z ,]+) -->\n).*?(<!-- end of help -->)`)
)

// sharedFlags are those that several commands have with the same meaning: the page has them once,
// below "flags", and where a command differs, by its default perhaps, with the command too.
var sharedFlags = []string{"help", "version", "dsn", "timeout", "layout", "epoch", "tick", "source", "server"}

// helpEntries returns the flags in the help of a command, each as its lines, and their names.
func (b *bench) helpEntries(t *testing.T, command string) (names []string, entries []string) {
	t.Helper()
	help := b.run(t.Context(), append(strings.Fields(command), "--help")...).stdout
	_, flags, _ := strings.Cut(help, "\nFlags:\n")
	for line := range strings.Lines(flags) {
		switch m := entryStart.FindStringSubmatch(line); {
		case m != nil:
			names = append(names, m[1])
			entries = append(entries, line)
		case strings.TrimSpace(line) != "" && strings.HasPrefix(line, "     "):
			entries[len(entries)-1] += line
		}
	}
	b.compareFlags(t, command, names, entries)
	return names, entries
}

// compareFlags compares the entries of a command with the flags that it has.
func (*bench) compareFlags(t *testing.T, command string, names, entries []string) {
	t.Helper()
	var want []string
	for _, group := range commandNode(t, command).AllFlags(true) {
		for _, flag := range group {
			want = append(want, flag.Name)
			i := slices.Index(names, flag.Name)
			if i >= 0 && !strings.HasSuffix(words(entries[i]), words(flag.Help)) {
				t.Errorf("%s: the entry of --%s is %q, want all of %q", command, flag.Name,
					words(entries[i]), flag.Help)
			}
		}
	}
	if got := slices.Sorted(slices.Values(names)); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		t.Errorf("%s: the entries are those of %q, want %q", command, got, want)
	}
}

// words returns text with one space between two words.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// commandNode returns what kong knows of a command.
func commandNode(t *testing.T, command string) *kong.Node {
	t.Helper()
	k, err := kong.New(&commands{}, kong.NoDefaultHelp())
	if err != nil {
		t.Fatal(err)
	}
	node := k.Model.Node
	for name := range strings.FieldsSeq(command) {
		i := slices.IndexFunc(node.Children, func(n *kong.Node) bool { return n.Name == name })
		if i < 0 {
			t.Fatalf("no command %q", command)
		}
		node = node.Children[i]
	}
	return node
}

// helpFor returns what the page has of commands, which commas separate: the own flags of each, below
// its name if there are several.
func (b *bench) helpFor(t *testing.T, commands string) string {
	t.Helper()
	shared := map[string]string{}
	var text strings.Builder
	for _, command := range []string{"gen", "segment list"} {
		names, entries := b.helpEntries(t, command)
		for i, name := range names {
			if slices.Contains(sharedFlags, name) && shared[name] == "" {
				shared[name] = words(entries[i])
				if commands == "flags" && slices.Contains(sharedFlags[2:], name) {
					text.WriteString(entries[i])
				}
			}
		}
	}
	if commands != "flags" {
		for command := range strings.SplitSeq(commands, ", ") {
			if strings.Contains(commands, ",") {
				fmt.Fprintf(&text, "%s:\n", command)
			}
			before := text.Len()
			names, entries := b.helpEntries(t, command)
			for i, name := range names {
				if shared[name] != words(entries[i]) {
					text.WriteString(entries[i])
				}
			}
			if text.Len() == before {
				t.Errorf("%s has no flags of its own", command)
			}
		}
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
	parts, shown := 0, map[string]bool{}
	want := helpPart.ReplaceAllStringFunc(string(text), func(part string) string {
		parts++
		m := helpPart.FindStringSubmatch(part)
		for command := range strings.SplitSeq(m[2], ", ") {
			shown[command] = true
		}
		return m[1] + b.helpFor(t, m[2]) + m[3]
	})
	if parts < 10 {
		t.Errorf("%s has the help of %d commands, want 10 or more", file, parts)
	}
	for _, leaf := range commandNode(t, "").Leaves(true) {
		own := slices.ContainsFunc(leaf.Flags, func(flag *kong.Flag) bool {
			return !slices.Contains(sharedFlags, flag.Name)
		})
		if own && !shown[leaf.Path()] {
			t.Errorf("%s has no help of %s", file, leaf.Path())
		}
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
