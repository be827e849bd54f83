// Command mutate is what "make mutate" runs: it changes the library one place at a time and runs
// the tests on each mutant. A mutant that no test notices shows what the tests do not see. The
// command fails unless every survivor is listed, with the reason why no test notices it.
//
// It runs in the repository's folder, and writes nothing into it but bin/mutants/PACKAGE.txt, from
// which -keep goes on, and which is not committed: the go command gets the mutants by its -overlay
// flag.
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
	"runtime"
	"syscall"
	"time"
)

// packages are mutated unless arguments say otherwise.
var packages = []string{
	"bitsalloc", "ringbuffer", "uid", "assigner/lease", "assigner/etcd", "assigner/zookeeper",
	"assigner/kubernetes", "assigner/workernode", "internal/workerstore", "internal/sqldb",
}

// options are the command's flags.
type options struct {
	root      string // the repository's folder
	work      string // a new folder for binaries and mutants, which is removed
	keep      bool
	survivors bool
	list      bool
	jobs      int
	suites    int
	limit     time.Duration
	cost      time.Duration
	match     *regexp.Regexp
	tests     string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run mutates the packages that args name.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutate", flag.ContinueOnError)
	flags.BoolVar(&o.keep, "keep", false, "run only mutants without a recorded outcome")
	flags.BoolVar(&o.survivors, "survivors", false, "run only mutants that are recorded "+
		"as survivors, or as killed without a test that failed")
	flags.IntVar(&o.suites, "suites", 9, "stop after this many suites; 1: the short tests only")
	flags.BoolVar(&o.list, "list", false, "list the mutants only")
	flags.IntVar(&o.jobs, "j", max(1, runtime.NumCPU()), "mutants at a time")
	flags.DurationVar(&o.limit, "for", 0, "stop after this time; default: run to the end")
	flags.DurationVar(&o.cost, "cost", 0,
		"leave out short tests that take more of a processor; default: none")
	flags.StringVar(&o.tests, "tests", "", "run only the short tests whose names match")
	match := flags.String("run", "", "run only mutants whose operator and key match")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.match, err = regexp.Compile(*match); err != nil {
		return err
	}
	if o.root, err = os.Getwd(); err != nil {
		return err
	}
	if o.work, err = os.MkdirTemp("", "mutate"); err != nil {
		return err
	}
	defer os.RemoveAll(o.work)
	if o.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.limit, errLimit)
		defer cancel()
	}
	list := flags.Args()
	if len(list) == 0 {
		list = packages
	}
	var errs []error
	for _, pkg := range list {
		errs = append(errs, mutate(ctx, o, filepath.ToSlash(filepath.Clean(pkg)), stdout))
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// errLimit ends a run that was given a time.
var errLimit = errors.New("out of time: run again with -keep")

// mutate runs the tests on the mutants of one package and records what became of them.
func mutate(ctx context.Context, o options, pkg string, stdout io.Writer) error {
	s, err := load(ctx, o.root, pkg)
	if err != nil {
		return err
	}
	all := s.mutants(o.match)
	if o.list {
		for _, m := range all {
			fmt.Fprintf(stdout, "%s\t%s\n", m.op, m.key)
		}
		return nil
	}
	before, err := loadResults(o.root, pkg)
	if err != nil {
		return err
	}
	h := newHunt(o, s, before, stdout)
	err = h.hunt(ctx, all)
	r := before.join(all, h.outcomes, o.match)
	t, judged := r.judge(o.root, len(all))
	fmt.Fprintf(stdout, "%s: %d mutants, %d killed, %d explained, %d open, %d not run\n", pkg,
		t.mutants, t.killed, t.explained, t.open, t.left())
	return errors.Join(err, r.write(o.root), judged)
}
