package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// results are the mutants of a package, each with its outcome, in the order of their keys.
type results struct {
	pkg   string
	lines []resultLine
}

type resultLine struct {
	op, key string
	outcome
}

// join returns the results with what a run found. all are the mutants that there are, as far as
// their operator and key match: a recorded one that is not among them is gone.
func (r *results) join(all []*mutant, found map[string]outcome, match *regexp.Regexp) *results {
	joined := &results{pkg: r.pkg}
	before := map[string]outcome{}
	for _, l := range r.lines {
		before[l.key] = l.outcome
		if !match.MatchString(l.op + " " + l.key) {
			joined.lines = append(joined.lines, l)
		}
	}
	for _, m := range all {
		was, ok := found[m.key]
		if !ok {
			was, ok = before[m.key]
		}
		if ok {
			joined.lines = append(joined.lines, resultLine{m.op, m.key, was})
		}
	}
	slices.SortFunc(joined.lines, func(a, b resultLine) int {
		return strings.Compare(a.key, b.key)
	})
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
	r := &results{pkg: pkg}
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
		l := resultLine{op: fields[0], key: fields[2]}
		if l.suite, l.by, _ = strings.Cut(fields[1], " "); l.suite == "survived" {
			l.suite = ""
		}
		r.lines = append(r.lines, l)
	}
	return r, nil
}

// write records the results.
func (r *results) write(root string) error {
	var b strings.Builder
	for _, l := range r.lines {
		fmt.Fprintf(&b, "%s\t%s\t%s\n", l.op, l.outcome, l.key)
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
	for _, l := range r.lines {
		as := listed[l.key]
		switch {
		case l.suite != "":
			t.killed++
			if as != "" {
				errs = append(errs, fmt.Errorf("listed as %s, but killed by %s: %s",
					as, l.outcome, l.key))
			}
		case as == "":
			errs = append(errs, fmt.Errorf("survived: %s", l.key))
		case as == "open":
			t.open++
		default:
			t.explained++
		}
		delete(listed, l.key)
	}
	// A listed mutant that has not run here is counted as it is listed.
	for _, list := range listed {
		if list == "open" {
			t.open++
		} else {
			t.explained++
		}
	}
	return t, errors.Join(errs...)
}
