package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// againEnv is the environment variable that lets failed tests run again by themselves. It is for
// the machine that decides what lands. That has two processors and runs several hundred tests with
// servers of their own side by side, so an answer may take longer than a test waits.
const againEnv = "UIDRING_TEST_AGAIN"

// mostAgain is the most failed tests that may run again. If more fail, the code is at fault.
const mostAgain = 3

// final matches the output of failures that a slow machine does not explain. A test that fails with
// such output does not run again.
var final = regexp.MustCompile(`(?i)data race|panic|twice|overlap|duplicate|in common|repeat|leak|` +
	`goroutine|did not end|ErrClaimLost|went back`)

// again runs the failed tests again, each by itself and three times. If all of them pass they no
// longer count as failed, and are flaky. It reports whether no failure is left. A test that is
// skipped, or not built with these flags, has not passed.
func (r *report) again(ctx context.Context, race []string) bool {
	tests := map[string]string{} // their packages, by package and test
	for _, e := range r.failures {
		if final.MatchString(e.Output) {
			return false
		}
		test, _, _ := strings.Cut(e.Test, "/")
		tests[e.Package+"."+test] = e.Package
	}
	// Other failures are packages that were not built or did not end.
	if len(tests) == 0 || len(tests) > mostAgain || r.failed != len(r.failures) {
		return false
	}
	names := slices.Sorted(maps.Keys(tests))
	for _, name := range names {
		test := strings.TrimPrefix(name, tests[name]+".")
		args := slices.Concat([]string{"test", "-vet=off", "-v", "-count=3", "-run=^" + test + "$"},
			race, []string{tests[name]})
		out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput()
		fmt.Fprintf(r.w, "again, alone: %s\n", name)
		if n := bytes.Count(out, []byte("--- PASS: "+test+" (")); err != nil || n != 3 {
			fmt.Fprintf(r.w, "%spassed %d times of 3: %v\n", out, n, err)
			return false
		}
	}
	r.failed, r.flaky = 0, names
	r.passed += len(names)
	return true
}
