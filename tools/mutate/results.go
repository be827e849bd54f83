package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// results are the mutants of a package, by their keys.
type results struct {
	pkg string
	of  map[string]result
}

// result is the operator of a mutant and what became of it.
type result struct {
	op string
	outcome
}

// join returns the results with what a run found. all are the mutants that there are, as far as
// their operator and key match: a recorded one that is not among them is gone.
func (r *results) join(all []*mutant, found map[string]outcome, match *regexp.Regexp) *results {
	joined := &results{r.pkg, map[string]result{}}
	for key, l := range r.of {
		if !match.MatchString(l.op + " " + key) {
			joined.of[key] = l
		}
	}
	for _, m := range all {
		if was, ok := found[m.key]; ok {
			joined.of[m.key] = result{m.op, was}
		} else if l, ok := r.of[m.key]; ok {
			joined.of[m.key] = l
		}
	}
	return joined
}

// Paths below the root: folder holds the lists of survivors, record the outcomes of all mutants.
// Those are not committed: a change of the code makes them old.
const (
	folder = "tools/mutate"
	record = "bin/mutants"
)

func resultsFile(root, pkg string) string {
	return filepath.Join(root, record, strings.ReplaceAll(pkg, "/", "-")+".txt")
}

// loadResults returns the recorded outcomes of a package, none if there is no record.
func loadResults(root, pkg string) (*results, error) {
	r := &results{pkg, map[string]result{}}
	text, err := os.ReadFile(resultsFile(root, pkg))
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s: line %q, want operator, outcome and key",
				resultsFile(root, pkg),
				line)
		}
		l := result{op: fields[0]}
		if l.suite, l.by, _ = strings.Cut(fields[1], " "); l.suite == "survived" {
			l.suite = ""
		}
		r.of[fields[2]] = l
	}
	return r, nil
}

// write records the results.
func (r *results) write(root string) error {
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(r.of)) {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", r.of[key].op, r.of[key].outcome, key)
	}
	name := resultsFile(root, r.pkg)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(b.String()), 0o644)
}

// tally is what became of a package's mutants.
type tally struct {
	mutants   int
	killed    int
	explained int
	open      int
}

// left returns how many mutants have no outcome.
func (t tally) left() int { return max(0, t.mutants-t.killed-t.explained-t.open) }

// judge counts the outcomes of a package that has so many mutants, and compares the survivors with
// the lists of those that are explained and of those that are open.
func (r *results) judge(root string, mutants int) (tally, error) {
	t := tally{mutants: mutants}
	listed, err := survivors(root, r.pkg)
	if err != nil {
		return t, err
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(r.of)) {
		l, as := r.of[key], listed[key]
		switch {
		case l.suite != "":
			t.killed++
			if as != "" {
				errs = append(errs, fmt.Errorf("listed as %s, but killed by %s: %s",
					as, l.outcome, key))
			}
		case as == "":
			errs = append(errs, fmt.Errorf("survived: %s", key))
		case as == open:
			t.open++
		default:
			t.explained++
		}
		delete(listed, key)
	}
	// A listed mutant that has not run here is counted as it is listed.
	for _, list := range listed {
		if list == open {
			t.open++
		} else {
			t.explained++
		}
	}
	return t, errors.Join(errs...)
}
