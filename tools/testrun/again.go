package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// againEnv is the environment variable that lets failed tests run again by themselves. It is for
// the machine that decides what lands. That has two processors and runs several hundred tests with
// servers of their own side by side, so an answer may take longer than a test waits.
const againEnv = "UIDRING_TEST_AGAIN"

const (
	// mostAgain is the most failed tests that may run again. If more fail, the code is at fault.
	mostAgain = 3

	// timesAgain is how often each of them has to pass.
	timesAgain = "-count=3"
)

// final matches the output of failures that a slow machine does not explain. A test that fails with
// such output does not run again.
var final = regexp.MustCompile(`(?i)data race|panic|twice|overlap|duplicate|in common|repeat|leak|` +
	`goroutine|did not end|ErrClaimLost|went back`)

// again runs the failed tests again, each by itself. Those that pass no longer count as failed and
// are added to r.flaky. It reports whether no failure is left.
func again(ctx context.Context, r *report, stderr io.Writer, race []string) bool {
	if len(r.failures) == 0 || len(r.failures) > mostAgain || r.failed != r.explained() {
		return false
	}
	for _, f := range r.failures {
		if final.MatchString(f.output) {
			return false
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.failures)) {
		f := r.failures[name]
		fmt.Fprintf(r.w, "again, alone: %s\n", name)
		alone := newReport(r.w)
		args := append([]string{"test", "-json", "-vet=off", timesAgain, "-run=^" + f.test + "$"},
			race...)
		err := errors.Join(pass(ctx, alone, stderr, append(args, f.pkg)), alone.err())
		if err != nil {
			fmt.Fprintf(r.w, "again, alone: %s: %v\n", name, err)
			return false
		}
		r.failed -= f.events
		r.passed++
		r.flaky = append(r.flaky, name)
	}
	return true
}

// failure is a test that failed, with its subtests.
type failure struct {
	pkg, test string
	output    string
	events    int // tests and subtests that were counted as failed
}

// note records a failed test, or one of its subtests.
func (r *report) note(e event, output []string) {
	test, _, _ := strings.Cut(e.Test, "/")
	name := e.Package + "." + test
	f := r.failures[name]
	if f == nil {
		f = &failure{pkg: e.Package, test: test}
		r.failures[name] = f
	}
	f.events++
	f.output += strings.Join(output, "")
}

// explained returns how many of the failures are tests with a name. The others are packages that
// were not built or did not end.
func (r *report) explained() (n int) {
	for _, f := range r.failures {
		n += f.events
	}
	return n
}
