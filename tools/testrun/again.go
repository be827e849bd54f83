package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// againEnv is the environment variable that lets failed tests run again by themselves. It is for
// the machine that decides what lands. That has two processors and runs several hundred tests with
// servers of their own side by side, so an answer may take longer than a test waits.
const againEnv = "UIDRING_TEST_AGAIN"

// final matches the output of failures that a slow machine does not explain. A test that fails with
// such output does not run again.
var final = regexp.MustCompile(`(?i)data race|panic|twice|overlap|duplicate|in common|repeat|leak|` +
	`goroutine|did not end|ErrClaimLost|went back`)

// again runs the failed tests again, each by itself and three times. If all of them pass they no
// longer count as failed, and are flaky. It reports whether no failure is left. A test that is
// skipped, or not built with these flags, has not passed.
func (r *report) again(ctx context.Context, stderr io.Writer, race []string) bool {
	var names []string // package and test
	for _, e := range r.failures {
		if final.MatchString(e.Output) {
			return false
		}
		test, _, _ := strings.Cut(e.Test, "/")
		names = append(names, e.Package+"."+test)
	}
	slices.Sort(names)
	names = slices.Compact(names) // of a test and its subtests
	// Where more than three fail the code is at fault. Other failures are packages that were not
	// built or did not end.
	if len(names) == 0 || len(names) > 3 || r.failed != len(r.failures) {
		return false
	}
	for _, name := range names {
		fmt.Fprintf(r.w, "again, alone: %s\n", name)
		dot := strings.LastIndexByte(name, '.')
		flags, alone := append(race, "-count=3", "-run=^"+name[dot+1:]+"$"), newReport(r.w)
		err := alone.pass(ctx, stderr, command(flags, []string{name[:dot]}))
		if err != nil || alone.passed < 3 {
			return false
		}
	}
	for _, name := range names {
		fmt.Fprintf(r.w, "flaky: %s failed beside other tests and passed alone\n", name)
	}
	r.failed, r.passed = 0, r.passed+len(names)
	return true
}
