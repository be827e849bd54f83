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
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

func main() {
	c := &suite.Config{Out: os.Stdout, Results: "bench/results"}
	flag.BoolVar(&c.Quick, "quick", false, "few and short measurements")
	flag.StringVar(&c.Anchors, "anchors", "",
		"what bench/anchors/build.sh has built; without it their suite is left out")
	all := strings.Join(result.Suites(), ",")
	suites := flag.String("suite", all, "comma-separated suites to run")
	only := flag.Bool("report", false, "measure nothing, write the report from the results")
	flag.Parse()
	names := slices.DeleteFunc(strings.Split(*suites, ","), func(name string) bool {
		return *only || name == "anchors" && c.Anchors == "" && *suites == all
	})
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, c, names); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1)
	}
}

// run measures suites and writes the report.
func run(ctx context.Context, c *suite.Config, names []string) error {
	if _, err := os.Stat("bench/go.mod"); err != nil {
		return fmt.Errorf("want the repository's root as the working directory: %w", err)
	}
	for _, name := range append(flag.Args(), names...) {
		if !slices.Contains(result.Suites(), name) || flag.NArg() > 0 ||
			name == "anchors" && c.Anchors == "" {
			return fmt.Errorf("%q: want -suite with some of %v, and -anchors for anchors", name,
				result.Suites())
		}
	}
	r, err := report.Load(c.Results)
	if err != nil {
		return err
	}
	if len(names) > 0 && !c.Quick {
		fmt.Fprintf(c.Out, "the suites took %v minutes the last time\n", r.Minutes(names...))
	}
	for _, name := range names {
		if err := c.Run(ctx, name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if r, err = report.Load(c.Results); err != nil {
		return err
	}
	fmt.Fprintln(c.Out, "writes bench/README.md and docs/charts")
	return r.Write(".")
}
