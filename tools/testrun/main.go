// Command testrun is what "make test" runs: the short tests of every module of the workspace, with
// the race detector where goroutines meet, if this machine has one. With -all alone, it runs all
// tests, with the race detector everywhere, and those that are only built without it. It prints
// failures in full, ten lines that say how far it is, and how many tests were skipped for each
// reason. Other arguments go to go test, with -race: for all modules ("work") where they name no
// package, and with go test's own line for each package. It needs nothing but the go command.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// module is how the paths of this repository's packages begin, but for the root's.
const module = "github.com/uidring/uidring/"

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// longest are the packages whose tests take longest, the longest last. They wait for servers and
// for time to pass, so others run beside them when they begin first.
var longest = []string{
	"assigner", "segment", "segment/sqltable", "test/e2e", "cmd/uid", "test/faults",
	"assigner/workernode", "uid",
}

// met are the packages of the library and its stores whose own goroutines share words, or in which
// calls of many goroutines meet. What the others share is a word that is stored once, a map under
// one lock, or nothing.
var met = []string{
	"assigner", "assigner/kubernetes", "assigner/lease", "assigner/zookeeper", "internal/ff1",
	"internal/sqldb", "number", "ringbuffer", "segment", "segment/sqltable", "service",
	"test/lincheck", "uid", "uid/backfill", "uid/uidgorm", "uid/uidtest",
}

// run executes go test with args and reports on stdout. The error is nil only when go test
// succeeded, at least one package ran to its end and no test failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	r := newReport(stdout)
	// It depends on the platform, on cgo and on a C compiler that works: this command builds.
	race, self := []string{"-race"}, module+"tools/testrun"
	build := exec.CommandContext(ctx, "go", "build", "-race", "-o", os.DevNull, self)
	if out, err := build.CombinedOutput(); err != nil {
		race = nil
		fmt.Fprintf(stdout, "race detector: off: %v: %s\n", err, bytes.TrimSpace(out))
	}
	passes, alone := [][]string{command(race, args)}, []string(nil)
	if len(args) == 0 || slices.Equal(args, []string{"-all"}) {
		packages, off, err := tested(ctx)
		if err != nil {
			return fmt.Errorf("listing packages: %w", err)
		}
		passes, alone, r.total = plan(packages, off, race, len(args) > 0)
		fmt.Fprintf(stdout, "compiling and running the tests of %d packages\n", len(packages))
	}
	failed := make([]error, len(passes))
	var wg sync.WaitGroup
	for i, args := range passes {
		wg.Go(func() { failed[i] = r.pass(ctx, stderr, args) })
	}
	wg.Wait()
	if alone != nil {
		failed = append(failed, r.pass(ctx, stderr, alone))
	}
	if os.Getenv(againEnv) == "1" && r.again(ctx, stderr, race) {
		failed = nil // go test only reported the tests that have passed since
	}
	return errors.Join(errors.Join(failed...), r.finish())
}

// plan returns the arguments of go for the tests of packages, the short ones or all: the passes run
// at once, and alone, if there is one, after them. total is how many packages they have. off has
// the tests that are only built without the race detector.
func plan(packages []string, off map[string][]string, race []string, all bool) (
	passes [][]string, alone []string, total int,
) {
	var raced, rest, spoiled, names []string
	for _, p := range packages {
		switch {
		case race == nil, !all && !slices.Contains(met, strings.TrimPrefix(p, module)):
			rest = append(rest, p)
		case off[p] != nil:
			spoiled, names = append(spoiled, p), append(names, off[p]...)
			fallthrough
		default:
			raced = append(raced, p)
		}
	}
	// The tests of the rest wait most of the time: more of them at once than processors.
	more := fmt.Sprint(2 * runtime.GOMAXPROCS(0))
	flags := []string{"-short"}
	if all {
		flags, race = nil, append(race, "-p="+more)
	}
	if len(raced) > 0 {
		passes = append(passes, command(append(race, flags...), raced))
	}
	if len(rest) > 0 {
		passes = append(passes, command(append(flags, "-parallel="+more), rest))
	}
	if len(spoiled) > 0 {
		// The tests without the race detector mean nothing under it: those of speed, of memory and
		// of very large numbers. They have the machine to themselves.
		alone = command(append(flags, "-run=^("+strings.Join(names, "|")+")$"), spoiled)
	}
	return passes, alone, len(packages) + len(spoiled)
}

// pass runs go with args, which make it print test events, and accounts for those.
func (r *report) pass(ctx context.Context, stderr io.Writer, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err := errors.Join(err, cmd.Start()); err != nil {
		return err
	}
	return errors.Join(r.read(events), cmd.Wait())
}

// testName finds the names of the tests of a file.
var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// tested returns the packages of the workspace that have tests, in the order in which they begin,
// and those of their tests that are only built without the race detector. By this repository's
// convention these are in files named race_off_test.go.
func tested(ctx context.Context) (packages []string, off map[string][]string, err error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}", "work").Output()
	off = map[string][]string{}
	for line := range strings.Lines(string(out)) {
		p, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages = append(packages, p)
		text, _ := os.ReadFile(filepath.Join(dir, "race_off_test.go")) // most have none
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			off[p] = append(off[p], m[1])
		}
	}
	length := func(p string) int { return slices.Index(longest, strings.TrimPrefix(p, module)) }
	slices.SortStableFunc(packages, func(a, b string) int { return length(b) - length(a) })
	return packages, off, err
}

// command returns the arguments of go for the flags and packages in args. Vetting is part of
// "make lint". Ten minutes are too few for the largest package on a machine that does other work.
func command(flags, args []string) []string {
	c := slices.Concat([]string{"test", "-json", "-vet=off", "-timeout=30m"}, flags, args)
	if len(args) == 0 || strings.HasPrefix(args[len(args)-1], "-") {
		c = append(c, "work")
	}
	return c
}
