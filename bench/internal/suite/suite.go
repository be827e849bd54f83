// Package suite holds what is measured together: a suite is a list of measurements, made in turn
// and interleaved, and one file of raw results.
package suite

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
	"github.com/uidring/uidring/bench/internal/result"
)

// Config is what a suite needs to know.
type Config struct {
	Quick   bool
	Anchors string    // what bench/anchors/build.sh has built; "" where it was not
	Results string    // the directory of the raw results
	Out     io.Writer // for what is under way
}

// Run measures one of result.Suites and saves its result.
func (c *Config) Run(ctx context.Context, name string) error {
	suites := map[string]func(context.Context, *Config, *result.File) error{
		"throughput": throughput, "anchors": anchors, "processors": processors,
		"latency": latency, "tuning": tuning, "costs": costs, "keys": keys,
	}
	fmt.Fprintf(c.Out, "%s: %s", name, time.Now().Format(time.TimeOnly))
	f := &result.File{Meta: result.NewMeta(ctx, name, c.Quick)}
	start := time.Now()
	err := suites[name](ctx, c, f)
	f.Meta.Seconds = time.Since(start).Seconds()
	fmt.Fprintf(c.Out, ", took %.0f s\n", f.Meta.Seconds)
	if err != nil || len(f.Rows) == 0 {
		return err
	}
	return f.Save(c.Results)
}

// pick returns quick or full.
func pick[T any](c *Config, quick, full T) T {
	if c.Quick {
		return quick
	}
	return full
}

// rounds calls f n times, unless ctx ends or f fails. A disturbance of the machine that outlasts a
// measurement hits all that is measured in a round alike.
func rounds(ctx context.Context, n int, f func(round int) error) error {
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		runtime.GC()
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// fresh calls take with the loop of a fresh generator.
func fresh(start contender.Start, take func(contender.Loop) error) error {
	run, stop, err := start()
	if err != nil {
		return err
	}
	if stop != nil {
		defer func() { _ = stop() }()
	}
	return take(run)
}

// procs is the number of processors that Go may use.
func procs() int { return runtime.GOMAXPROCS(0) }

// On names a load: so many goroutines on so many processors.
func On(goroutines, processors int) string {
	return fmt.Sprintf("%d on %d", goroutines, processors)
}
