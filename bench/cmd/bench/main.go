// Command bench measures the library beside its floors, its peers and its rivals, and writes the report.
//
// Usage, from the repository's root:
//
//	go run ./bench/cmd/bench [-quick] [-suite NAME,...] [-only REGEXP]
//	go run ./bench/cmd/bench -report
//
// It prints the suites' tables and writes the raw results to bench/results, and from them docs/benchmarks.md and the charts in
// docs/charts. With -report it measures nothing and writes those again.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/pprof"
	"strings"

	"github.com/uidring/uidring/bench/internal/report"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/bench/internal/suite"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			os.Exit(2)
		}
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	quick      bool
	only       string
	suites     string
	root       string
	reportOnly bool
	profile    string
}

func parse(args []string) (*options, error) {
	o := new(options)
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.BoolVar(&o.quick, "quick", false, "reduced form: every suite in under two minutes")
	fs.StringVar(&o.suites, "suite", "", "comma-separated suites to run; default all: "+strings.Join(result.Suites(), ", "))
	fs.StringVar(&o.only, "only", "", "measure only the contenders whose name matches this regular expression")
	fs.StringVar(&o.root, "root", "", "the repository's root; default: found from the working directory upwards")
	fs.BoolVar(&o.reportOnly, "report", false, "measure nothing; write the report from the results that are there")
	fs.StringVar(&o.profile, "cpuprofile", "", "write a CPU profile of the suites to this file")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.root == "" {
		var err error
		if o.root, err = findRoot(); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// command returns the command line that measures the same again on any machine.
func (o *options) command() string {
	c := "go run ./bench/cmd/bench"
	if o.quick {
		c += " -quick"
	}
	if o.suites != "" {
		c += " -suite " + o.suites
	}
	if o.only != "" {
		c += " -only '" + o.only + "'"
	}
	return c
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
			return "", errors.New("no bench/go.mod here or above; say -root")
		}
		dir = up
	}
}

// choose returns the suites that the user names.
func choose(names string) ([]suite.Suite, error) {
	all := suite.All()
	if names == "" {
		return all, nil
	}
	var out []suite.Suite
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, s := range all {
			if s.Name == strings.TrimSpace(name) {
				out, found = append(out, s), true
			}
		}
		if !found {
			return nil, fmt.Errorf("-suite %s: want one of %s", name, strings.Join(result.Suites(), ", "))
		}
	}
	return out, nil
}

func run(ctx context.Context, args []string) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	suites, err := choose(o.suites)
	if err != nil {
		return err
	}
	only, err := regexp.Compile(o.only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	results := filepath.Join(o.root, "bench", "results")
	if !o.reportOnly {
		if err := measureAll(ctx, o, suites, &suite.Config{
			Quick: o.quick, Only: only, Results: results, Out: os.Stderr,
			Command: o.command(),
		}); err != nil {
			return err
		}
	}
	r, err := report.Load(results)
	if err != nil {
		return err
	}
	if err := r.Write(filepath.Join(o.root, "docs")); err != nil {
		return err
	}
	if o.reportOnly {
		fmt.Println("wrote docs/benchmarks.md and docs/charts")
		return nil
	}
	for _, s := range suites {
		fmt.Printf("\n== %s: %s\n\n%s", s.Name, s.About, r.Section(s.Name))
	}
	fmt.Printf("\n== targets\n\n%s\nwrote bench/results, docs/benchmarks.md and docs/charts\n", r.TargetTable())
	return nil
}

// measureAll runs the suites, under a profile if one is wanted.
func measureAll(ctx context.Context, o *options, suites []suite.Suite, c *suite.Config) (err error) {
	if o.profile != "" {
		f, err := os.Create(o.profile)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	for _, s := range suites {
		if err := s.Run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}
