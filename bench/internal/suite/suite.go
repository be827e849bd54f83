// Package suite holds what is measured together: a suite is a list of measurements, made in turn
// and interleaved, and one file of raw results.
package suite

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
	"github.com/uidring/uidring/internal/progress"
)

// Config is what a suite needs to know.
type Config struct {
	Quick   bool
	Only    *regexp.Regexp // contenders to measure, by name
	Results string         // the directory of the raw results
	Command string         // as the user gave it
	Out     *os.File       // for the progress
}

// Suite is one of them.
type Suite struct {
	Name string
	Run  func(ctx context.Context, c *Config) error // measures and saves
}

// All returns the suites in the order of the report.
func All() []Suite {
	return []Suite{
		{result.Throughput, runThroughput},
		{result.Unique, runUnique},
		{result.Latency, runLatency},
		{result.Time, runTime},
		{result.Table, runTable},
		{result.Original, runOriginal},
		{result.Tuning, runTuning},
	}
}

// pick returns quick or full.
func pick[T any](c *Config, quick, full T) T {
	if c.Quick {
		return quick
	}
	return full
}

// contenders returns those that the user wants, of the given names or of all.
func (c *Config) contenders(names ...string) []contender.Contender {
	return slices.DeleteFunc(contender.All(), func(x contender.Contender) bool {
		return !c.Only.MatchString(x.Name) || len(names) > 0 && !slices.Contains(names, x.Name)
	})
}

// collect runs a suite of so many steps, saves its rows and says how long it took.
func collect[R any](ctx context.Context, c *Config, name string, steps int,
	run func(*progress.Bar) ([]R, error)) error {
	meta := result.NewMeta(ctx, name, c.Command, c.Quick)
	var bar *progress.Bar
	if info, err := c.Out.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		bar = progress.New(c.Out, func() int { return 80 }, name, int64(steps))
	}
	start := time.Now()
	rows, err := run(bar)
	bar.End()
	if err != nil {
		return err
	}
	meta.Seconds = time.Since(start).Seconds()
	fmt.Fprintf(c.Out, "%s: %.0f s\n", name, meta.Seconds)
	return result.Save(c.Results, result.File[R]{Meta: meta, Rows: rows})
}

// rounds calls f n times, unless ctx ends or f fails. A disturbance of the machine that outlasts a
// measurement hits all that is measured in a round alike.
func rounds(ctx context.Context, bar *progress.Bar, n int, f func(round int) error) error {
	for i := range n {
		bar.Step("")
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// text returns err's text, or nothing.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// procs is the number of processors that Go may use.
func procs() int { return runtime.GOMAXPROCS(0) }
