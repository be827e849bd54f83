package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestBundle compiles all mutants of package ringbuffer into one test binary, and sees the tests
// that pass without a mutant fail as one.
func TestBundle(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("builds a test binary")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	s, err := load(t.Context(), root, "ringbuffer")
	if err != nil {
		t.Fatal(err)
	}
	all := s.mutants(regexp.MustCompile(""))
	keys := map[string]int{}
	for _, m := range all {
		keys[m.key]++
	}
	if len(all) < 200 || len(keys) != len(all) {
		t.Fatalf("%d mutants with %d keys, want 200 or more, each with a key of its own", len(all),
			len(keys))
	}
	b := &bench{root: root, work: t.TempDir()}
	if b.overlay, err = s.bundle(all, b.work); err != nil {
		t.Fatal(err)
	}
	short := suitesOf("ringbuffer")[0]
	if err := b.build(t.Context(), short); err != nil {
		t.Fatal(err)
	}
	const key = "ringbuffer/take.go Ring.TryTake: returns at once"
	number := 0
	for _, m := range all {
		if m.key == key {
			number = m.number
		}
	}
	for _, mutant := range []int{0, number} {
		v, err := b.run(t.Context(), short, mutant,
			choice{pattern: "^TestOriginal|^TestTry|^TestExact", limit: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		if v.killed != (mutant > 0) {
			t.Errorf("mutant %d (%s): %+v", mutant, key, v)
		}
	}
}

// TestRecords holds the lists of survivors to today's code, and the table of the page to the last
// run: what is listed is a mutant, and is listed once.
func TestRecords(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("lists the mutants of every package, which takes seconds")
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "tools", "mutate", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	run, err := os.ReadFile("results.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, pkg := range packages {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			listed, err := survivors(root, pkg)
			if err != nil {
				t.Fatal(err)
			}
			list := exec.CommandContext(t.Context(), "go", "run", "./tools/mutate", "-list", pkg)
			list.Dir = root
			out, err := list.Output()
			if err != nil {
				t.Fatal(err)
			}
			mutants := map[string]bool{}
			for line := range strings.Lines(string(out)) {
				_, key, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				mutants[key] = true
			}
			for key, list := range listed {
				if !mutants[key] {
					t.Errorf("listed as %s, but no mutant: %s", list, key)
				}
			}
			m := regexp.MustCompile(`(?m)^` + pkg +
				`: (\d+) mutants, (\d+) killed, (\d+) explained, (\d+) open, (\d+) not run$`).
				FindStringSubmatch(string(run))
			if m == nil {
				t.Fatal("results.txt has no line for the package")
			}
			row := "| `" + pkg + "` | " + strings.Join(m[1:], " | ") + " |\n"
			if !strings.Contains(string(page), row) {
				t.Errorf("tools/mutate/README.md has no row %q", row)
			}
		})
	}
}
