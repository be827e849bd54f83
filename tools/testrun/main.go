// Command testrun is what "make test" runs: the short tests of every module of the workspace, with
// the race detector where goroutines meet, if this machine has one. With -all alone, it runs all
// tests, with the race detector everywhere, and those that are only built without it. It prints
// failures in full, ten lines that say how far it is, and at the end each reason for skipping
// tests, with the number of tests skipped.
//
// It passes other arguments to go test, with -race. Without a package among them it tests all
// modules ("work"), and prints go test's own line for each package. It needs nothing but the go
// command.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// module is how the paths of this repository's packages begin, but for the root's.
const module = "github.com/uidring/uidring/"

// self is a package that is certain to build. It is the probe for the race detector.
const self = module + "tools/testrun"

// raceOff is the name of the files with tests that are only built without the race detector.
const raceOff = "race_off_test.go"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "testrun:", err)
		os.Exit(1)
	}
}

// all is the argument that runs every test.
const all = "-all"

// longest are the packages whose tests take longest. They wait for servers and for time to pass, so
// others run beside them when they begin first.
var longest = []string{
	"uid", "assigner/workernode", "test/faults", "cmd/uid", "test/e2e", "segment/sqltable",
	"segment", "assigner",
}

// met are the packages whose own goroutines share words, or in which calls of many goroutines meet.
// The others call these.
var met = []string{
	"assigner", "assigner/lease", "ringbuffer", "segment", "service", "test/lincheck", "uid",
	"uid/backfill",
}

// run executes go test with args and reports on stdout. The error is nil only when go test
// succeeded, at least one package ran to its end and no test failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	race, why := raceFlag(ctx)
	if why != "" {
		fmt.Fprintf(stdout, "race detector: off: %s\n", why)
	}
	r := newReport(stdout)
	passes, off := [][]string{command(race, args)}, []string(nil)
	if len(args) == 0 || slices.Equal(args, []string{all}) {
		packages, err := tested(ctx)
		if err != nil {
			return err
		}
		passes, off = plan(packages, race, len(args) > 0)
		for _, p := range append(passes, off) {
			r.total += count(p)
		}
		fmt.Fprintf(stdout, "compiling and running the tests of %d packages\n", len(packages))
	}
	errs := make([]error, len(passes)+1)
	var wg sync.WaitGroup
	for i, p := range passes {
		wg.Go(func() { errs[i] = pass(ctx, r, stderr, p) })
	}
	wg.Wait()
	if off != nil {
		errs[len(passes)] = pass(ctx, r, stderr, off)
	}
	err := errors.Join(errs...)
	if os.Getenv(againEnv) == "1" && again(ctx, r, stderr, race) {
		err = nil // go test only reported the tests that have passed since
	}
	r.finish()
	return errors.Join(err, r.err())
}

// tests is a package that has tests.
type tests struct {
	path string
	off  []string // those that are only built without the race detector
}

// plan returns the arguments of go for the tests of packages, the short ones or all: passes that
// run at once, and off, which has the machine to itself or is nil.
func plan(packages []tests, race []string, everything bool) (passes [][]string, off []string) {
	var raced, rest, spoiled, names []string
	for _, p := range packages {
		inner := strings.TrimPrefix(p.path, module)
		if len(race) == 0 || !everything && !slices.Contains(met, inner) {
			rest = append(rest, p.path)
			continue
		}
		raced = append(raced, p.path)
		if len(p.off) > 0 {
			spoiled, names = append(spoiled, p.path), append(names, p.off...)
		}
	}
	var short []string
	if !everything {
		short = []string{"-short"}
	}
	// The tests of the rest wait most of the time: more of them at once than processors.
	more := 2 * runtime.GOMAXPROCS(0)
	if everything {
		race = slices.Concat(race, []string{fmt.Sprint("-p=", more)})
	}
	waiting := []string{fmt.Sprint("-parallel=", more)}
	for _, p := range []struct{ flags, packages []string }{{race, raced}, {waiting, rest}} {
		if len(p.packages) > 0 {
			passes = append(passes, command(slices.Concat(p.flags, short), p.packages))
		}
	}
	// The tests without the race detector mean nothing under it: those of speed, of memory and of
	// very large numbers.
	if len(spoiled) > 0 {
		only := "-run=^(" + strings.Join(names, "|") + ")$"
		off = command(append(short, only), spoiled)
	}
	return passes, off
}

// count returns how many packages the arguments of go name.
func count(args []string) (n int) {
	for _, a := range args {
		if strings.HasPrefix(a, module) || a+"/" == module {
			n++
		}
	}
	return n
}

// pass runs go with args, which make it print test events, and feeds them to r.
func pass(ctx context.Context, r *report, stderr io.Writer, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	return errors.Join(r.read(events), cmd.Wait())
}

// testName finds the names of the tests of a file.
var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// tested returns the packages of the workspace that have tests. By this repository's convention the
// tests that are only built without the race detector are in files named race_off_test.go.
func tested(ctx context.Context) ([]tests, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f",
		"{{.ImportPath}}\t{{.Dir}}\t{{.TestGoFiles}}{{.XTestGoFiles}}", "work").Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var packages []tests
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if len(fields) != 3 || fields[2] == "[][]" {
			continue
		}
		p := tests{path: fields[0]}
		if strings.Contains(fields[2], raceOff) {
			text, err := os.ReadFile(filepath.Join(fields[1], raceOff))
			if err != nil {
				return nil, err
			}
			for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
				p.off = append(p.off, m[1])
			}
		}
		packages = append(packages, p)
	}
	slices.SortStableFunc(packages, func(a, b tests) int {
		return cmp.Compare(a.begins(), b.begins())
	})
	return packages, nil
}

// begins returns the place of a package in the order in which packages begin.
func (p tests) begins() int {
	if i := slices.Index(longest, strings.TrimPrefix(p.path, module)); i >= 0 {
		return i
	}
	return len(longest)
}

// command returns the arguments of go for the flags and packages in args. Vetting is part of
// "make lint". Ten minutes are too few for the largest package on a machine that does other work.
func command(flags, args []string) []string {
	c := append([]string{"test", "-json", "-vet=off", "-timeout=30m"}, flags...)
	c = append(c, args...)
	if len(args) == 0 || strings.HasPrefix(args[len(args)-1], "-") {
		c = append(c, "work")
	}
	return c
}

// raceFlag returns -race, or nothing and the reason why not. It builds a small program to find out,
// because the race detector depends on the platform, on cgo and on a C compiler that works.
func raceFlag(ctx context.Context) (flag []string, why string) {
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "build", "-race", "-o", os.DevNull, self)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		text := strings.Join(strings.Fields(out.String()), " ")
		if text == "" {
			text = err.Error()
		}
		return nil, text
	}
	return []string{"-race"}, ""
}
