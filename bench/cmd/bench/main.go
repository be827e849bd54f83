// Command bench measures the library, its floors and other libraries, and writes the report.
//
// Usage, from the repository's root:
//
//	go run ./bench/cmd/bench [-quick] [-suite NAME,...] [-anchors DIR]
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
	all := result.Suites()
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	quick := fs.Bool("quick", false, "few and short measurements")
	suites := fs.String("suite", strings.Join(all, ","), "comma-separated suites to run")
	anchors := fs.String("anchors", "",
		"what bench/anchors/build.sh has built; without it their suite is left out")
	only := fs.Bool("report", false, "measure nothing, write the report from the results")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	root, err := os.Getwd()
	if err == nil {
		_, err = os.Stat(filepath.Join(root, "bench", "go.mod"))
	}
	if err != nil {
		return fmt.Errorf("want the repository's root as the working directory: %w", err)
	}
	names := strings.Split(*suites, ",")
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("-suite %s: want one of %s", name, strings.Join(all, ", "))
		}
	}
	c := &suite.Config{Quick: *quick, Root: root, Anchors: *anchors, Out: out,
		Results: filepath.Join(root, "bench", "results")}
	r, err := report.Load(c.Results)
	if err != nil {
		return err
	}
	if *only {
		names = nil
	} else if !*quick {
		fmt.Fprintf(out, "the suites took %v minutes the last time\n", r.Minutes(names...))
	}
	for _, name := range names {
		if err := c.Run(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if r, err = report.Load(c.Results); err != nil {
		return err
	}
	if err := r.Write(root); err != nil {
		return err
	}
	fmt.Fprintln(out, "wrote bench/README.md and docs/charts")
	return nil
}
