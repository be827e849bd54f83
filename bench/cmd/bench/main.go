// Command bench measures the library, its floors and other libraries, and writes the report.
//
// Usage, from the repository's root:
//
//	go run ./bench/cmd/bench [-quick] [-suite NAME,...] [-only REGEXP]
//	go run ./bench/cmd/bench -report
//
// It writes the raw results to bench/results, and from them bench/README.md and the charts in
// docs/charts. With -report it measures nothing and writes those again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures what args ask for and writes the report.
func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := fs.Bool("quick", false, "few and short measurements")
	suites := fs.String("suite", strings.Join(result.Suites(), ","),
		"comma-separated suites to run")
	only := fs.String("only", "",
		"measure only the contenders whose name matches this regular expression")
	reportOnly := fs.Bool("report", false, "measure nothing, write the report from the results")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	names := strings.Split(*suites, ",")
	for _, name := range names {
		if !slices.Contains(result.Suites(), name) {
			return fmt.Errorf("-suite %s: want one of %s",
				name, strings.Join(result.Suites(), ", "))
		}
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	results := filepath.Join(root, "bench", "results")
	c := &suite.Config{Quick: *quick, Only: pattern, Results: results, Out: os.Stderr,
		Command: strings.Join(append([]string{"go run ./bench/cmd/bench"}, args...), " ")}
	for _, s := range suite.All() {
		if *reportOnly || !slices.Contains(names, s.Name) {
			continue
		}
		if err := s.Run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	r, err := report.Load(results)
	if err != nil {
		return err
	}
	if err := r.Write(root); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s\nwrote bench/README.md and docs/charts\n", r.TargetTable())
	return nil
}

// findRoot returns the nearest directory upwards that holds bench/go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "bench", "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no bench/go.mod in this directory or above")
		}
		dir = up
	}
}
