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

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
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
	stages := [][][]string{{command(race, args)}}
	if len(args) == 0 || slices.Equal(args, []string{"-all"}) {
		packages, err := tested(ctx)
		if err != nil {
			return err
		}
		stages, r.total = plan(packages, race, len(args) > 0)
		fmt.Fprintf(stdout, "compiling and running the tests of %d packages\n", len(packages))
	}
	var failed error // guarded by r.mu
	for _, passes := range stages {
		var wg sync.WaitGroup
		for _, args := range passes {
			wg.Go(func() {
				err := pass(ctx, r, stderr, args)
				r.mu.Lock()
				defer r.mu.Unlock()
				failed = errors.Join(failed, err)
			})
		}
		wg.Wait()
	}
	if os.Getenv(againEnv) == "1" && r.again(ctx, race) {
		failed = nil // go test only reported the tests that have passed since
	}
	return errors.Join(failed, r.finish())
}

// tests is a package that has tests.
type tests struct {
	path string
	off  []string // those that are only built without the race detector
}

// plan returns the arguments of go for the tests of packages, the short ones or all, in stages: the
// passes of one run at once. total is how many packages they have.
func plan(packages []tests, race []string, everything bool) (stages [][][]string, total int) {
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
	// The tests of the rest wait most of the time: more of them at once than processors.
	more := 2 * runtime.GOMAXPROCS(0)
	short := []string{"-short"}
	if everything {
		short, race = nil, slices.Concat(race, []string{fmt.Sprint("-p=", more)})
	}
	add := func(stage int, packages []string, flags ...string) {
		if len(packages) > 0 {
			stages[stage] = append(stages[stage], command(append(flags, short...), packages))
			total += len(packages)
		}
	}
	stages = make([][][]string, 2)
	add(0, raced, race...)
	add(0, rest, fmt.Sprint("-parallel=", more))
	// The tests without the race detector mean nothing under it: those of speed, of memory and of
	// very large numbers. They have the machine to themselves.
	add(1, spoiled, "-run=^("+strings.Join(names, "|")+")$")
	return stages, total
}

// pass runs go with args, which make it print test events, and feeds them to r.
func pass(ctx context.Context, r *report, stderr io.Writer, args []string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Stderr = stderr
	events, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		err = errors.Join(r.read(events), cmd.Wait())
	}
	return err
}

// testName finds the names of the tests of a file.
var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// tested returns the packages of the workspace that have tests, in the order in which they begin.
// By this repository's convention the tests that are only built without the race detector are in
// files named race_off_test.go.
func tested(ctx context.Context) ([]tests, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f",
		"{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Dir}}{{end}}", "work").Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var packages []tests
	for line := range strings.Lines(string(out)) {
		path, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		p := tests{path: path}
		text, _ := os.ReadFile(filepath.Join(dir, "race_off_test.go")) // most have none
		for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
			p.off = append(p.off, m[1])
		}
		packages = append(packages, p)
	}
	length := func(p tests) int {
		return slices.Index(longest, strings.TrimPrefix(p.path, module))
	}
	slices.SortStableFunc(packages, func(a, b tests) int {
		return cmp.Compare(length(b), length(a))
	})
	return packages, nil
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
	self := module + "tools/testrun" // which builds for certain
	build := exec.CommandContext(ctx, "go", "build", "-race", "-o", os.DevNull, self)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, strings.Join(strings.Fields(fmt.Sprintf("%v: %s", err, out)), " ")
	}
	return []string{"-race"}, ""
}
