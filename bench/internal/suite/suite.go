// Package suite holds what is measured together: a suite is a list of measurements, made in turn and interleaved, and
// one file of raw results.
package suite

import (
	"context"
	"os"
	"regexp"
	"runtime"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/progress"
	"github.com/uidring/uidring/bench/internal/result"
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
	Name  string
	About string
	run   func(ctx context.Context, c *Config) error
}

// Run measures and saves.
func (s Suite) Run(ctx context.Context, c *Config) error { return s.run(ctx, c) }

// All returns the suites in the order of the report.
func All() []Suite {
	return []Suite{
		{result.Throughput, "ids a second of every contender, by processors", runThroughput},
		{result.Unique, "whether every contender's ids are unique", runUnique},
		{result.Offered, "the latency at 100,000 ids/s offered", runOffered},
		{result.Latency, "the distribution of a single Next, at full load and paced", runLatency},
		{result.Original, "the three tables that the original publishes", runOriginal},
		{result.Tuning, "BoostPower by PaddingFactor by RunLength by Lanes", runTuning},
		{result.Time, "how far the ids' stamps are from the wall clock", runTime},
		{result.Table, "what a primary key does to a MariaDB table", runTable},
	}
}

// pick returns quick or full.
func pick[T any](c *Config, quick, full T) T {
	if c.Quick {
		return quick
	}
	return full
}

// contenders returns those of the given names that the user wants, in that order; all without a name.
func (c *Config) contenders(names ...string) []contender.Contender {
	all := contender.All()
	if len(names) > 0 {
		all = nil
		for _, n := range names {
			if x, ok := contender.ByName(n); ok {
				all = append(all, x)
			}
		}
	}
	return contender.Select(all, c.Only)
}

// collect runs a suite's steps under a bar and saves the rows.
func collect[R any](ctx context.Context, c *Config, name string, steps int, run func(bar *progress.Bar) ([]R, error)) error {
	meta := result.NewMeta(ctx, name, c.Command, c.Quick)
	bar := progress.New(c.Out, name, steps)
	start := time.Now()
	rows, err := run(bar)
	bar.End()
	if err != nil {
		return err
	}
	meta.Seconds = time.Since(start).Seconds()
	return result.Save(c.Results, result.File[R]{Meta: meta, Rows: rows})
}

// text returns err's text, or nothing.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// allProcs is the number of processors that Go may use.
func allProcs() int { return runtime.GOMAXPROCS(0) }
