package main

import (
	"os"
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

// TestRecords holds the recorded outcomes and the lists of equivalents and of open survivors
// together: nothing survives that is not listed, and nothing is excused that a test kills or that is
// not there.
func TestRecords(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("results")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		pkg := strings.ReplaceAll(strings.TrimSuffix(f.Name(), ".txt"), "-", "/")
		r, err := loadResults("../..", pkg)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.judge("../..", len(r.lines), t.Output()); err != nil {
			t.Errorf("%s: %v", pkg, err)
		}
	}
}
