// Command testrun is what "make test" runs: go test over every module of the workspace, with the
// race detector if this machine has one. It prints failures in full, go test's own line for each
// package, and at the end each reason for skipping tests, with the number of tests skipped.
//
// It passes its arguments to go test. Without a package among them it tests all modules ("work").
// Without any argument it also runs the tests that are only built without the race detector. It
// needs nothing but the go command.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

// self is a package that is certain to build. It is the probe for the race detector.
const self = "github.com/uidring/uidring/tools/testrun"

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

// run executes go test with args and reports on stdout. The error is nil only when go test
// succeeded, at least one package ran to its end and no test failed.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	race, why := raceFlag(ctx)
	if why != "" {
		fmt.Fprintf(stdout, "race detector: off: %s\n", why)
	}
	r := newReport(stdout)
	err := pass(ctx, r, stderr, command(race, args))
	if len(race) > 0 && len(args) == 0 {
		// Some tests mean nothing under the race detector: those of speed, of memory and of very
		// large numbers.
		without, listErr := withoutRace(ctx)
		if listErr != nil {
			return errors.Join(err, listErr)
		}
		if len(without) > 0 {
			fmt.Fprintln(stdout, "without the race detector:")
			err = errors.Join(err, pass(ctx, r, stderr, command(nil, without)))
		}
	}
	if os.Getenv(againEnv) == "1" && again(ctx, r, stderr, race) {
		err = nil // go test only reported the tests that have passed since
	}
	r.finish()
	return errors.Join(err, r.err())
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
	r.broken = errors.Join(r.broken, r.read(events))
	return cmd.Wait()
}

// testName finds the names of the tests of a file.
var testName = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// withoutRace returns the arguments of go test for the tests that are only built without the race
// detector: a -run flag and packages. By this repository's convention these tests are in files
// named race_off_test.go. Without such a test it returns nil.
func withoutRace(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-f",
		"{{.ImportPath}}\t{{.Dir}}\t{{.TestGoFiles}} {{.XTestGoFiles}}", "work").Output()
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var packages, tests []string
	for line := range strings.Lines(string(out)) {
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) != 3 || !strings.Contains(fields[2], raceOff) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(fields[1], raceOff))
		if err != nil {
			return nil, err
		}
		found := testName.FindAllStringSubmatch(string(text), -1)
		if len(found) == 0 {
			continue
		}
		packages = append(packages, fields[0])
		for _, m := range found {
			tests = append(tests, m[1])
		}
	}
	if len(tests) == 0 {
		return nil, nil
	}
	return append([]string{"-run=^(" + strings.Join(tests, "|") + ")$"}, packages...), nil
}

// command returns the arguments of go for the flags and packages in args. Vetting is part of
// "make lint".
func command(race, args []string) []string {
	c := append([]string{"test", "-json", "-vet=off"}, race...)
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
