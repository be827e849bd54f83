package main

import (
	"fmt"
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

// TestRecords holds the recorded outcomes, the lists of survivors and the table of the page together:
// nothing survives that is not listed, nothing is excused that a test kills or that is not there,
// and the table says how many mutants of today's code there are, and how many have not run.
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
	for _, pkg := range packages {
		t.Run(pkg, func(t *testing.T) {
			t.Parallel()
			r, err := loadResults(root, pkg)
			if err != nil {
				t.Fatal(err)
			}
			list := exec.CommandContext(t.Context(), "go", "run", "./tools/mutate", "-list", pkg)
			list.Dir = root
			out, err := list.Output()
			if err != nil {
				t.Fatal(err)
			}
			var all []*mutant
			for line := range strings.Lines(string(out)) {
				op, key, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
				all = append(all, &mutant{op: op, key: key})
			}
			r = r.join(all, nil, regexp.MustCompile(""))
			tests := testsOf(t, root, pkg)
			for _, l := range r.lines {
				if l.suite == "short" && !strings.HasPrefix(l.by, "(") && !tests[l.by] {
					t.Errorf("%s was killed by %s, which is no test of the package", l.key, l.by)
				}
			}
			got, err := r.judge(root, len(all))
			if err != nil {
				t.Error(err)
			}
			row := fmt.Sprintf("| `%s` | %s | %s | %d | %d | %d |\n", pkg, thousands(got.mutants),
				thousands(got.killed), got.explained, got.open, got.left())
			if !strings.Contains(string(page), row) {
				t.Errorf("tools/mutate/README.md has no row %q", row)
			}
		})
	}
}

// testsOf returns the names of a package's tests.
func testsOf(t *testing.T, root, pkg string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range testFunc.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
	}
	return names
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

// thousands writes a number below a million with a comma.
func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
