package soak

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/uidring/uidring/internal/human"
)

// Config is what the flags of every soak say.
type Config struct {
	Duration  time.Duration // for which faults are injected
	Most      time.Duration // the longest time that a fault lasts
	Every     time.Duration // between two lines of progress
	Processes int           // at one time
	Seed      uint64
}

// Result is what a run found, as it is written to a file.
type Result interface {
	Markdown() string // as the report shows it
	Found() error     // what must not have been found
}

// Command runs a soak as a command, and returns the exit status: 2 for flags that are wrong. c has
// the defaults. check returns an error for values of more flags in set that are wrong. run returns
// a nil result only if nothing was run, and its error says what must not have happened.
func Command[R Result](args []string, stdout, stderr io.Writer, c *Config, set *flag.FlagSet,
	check func() error, run func(ctx context.Context, progress io.Writer) (*R, error)) int {
	set.SetOutput(stderr)
	set.DurationVar(&c.Duration, "duration", 10*time.Minute, "time for which faults are injected")
	set.DurationVar(&c.Most, "most", 8*time.Second, "longest time that a fault lasts")
	set.DurationVar(&c.Every, "progress", 10*time.Second, "time between two lines of progress")
	set.IntVar(&c.Processes, "processes", c.Processes, "number of processes at one time")
	set.Uint64Var(&c.Seed, "seed", rand.Uint64(), "seed of the faults")
	out := set.String("json", "", "write the result to this file")
	show := set.String("show", "",
		"print the result in this file as the report shows it, and run nothing")
	if err := set.Parse(args); err != nil {
		return 2
	}
	fail := func(status int, err error) int {
		fmt.Fprintln(stderr, "soak:", err)
		return status
	}
	if *show != "" {
		r, err := Read[R](*show)
		if err != nil {
			return fail(1, err)
		}
		fmt.Fprint(stdout, (*r).Markdown())
		return 0
	}
	err := check()
	if c.Processes < 2 || c.Duration <= 0 || c.Most < 100*time.Millisecond || c.Every <= 0 {
		err = errors.Join(err, errors.New("want -processes of at least 2, -most of at least "+
			"100ms, and times above 0"))
	}
	if err != nil {
		return fail(2, err)
	}
	fmt.Fprintf(stdout, "soak: %v, seed %d, %d processes\n", c.Duration, c.Seed, c.Processes)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	begin := time.Now()
	r, err := run(ctx, stdout)
	if ctx.Err() != nil && err == nil {
		err = fmt.Errorf("ended by a signal after %v", time.Since(begin).Round(time.Second))
	}
	if r != nil {
		fmt.Fprint(stdout, "\n", (*r).Markdown())
		err = errors.Join(err, (*r).Found())
		if *out != "" {
			err = errors.Join(err, write(*out, r))
		}
	}
	if err != nil {
		return fail(1, err)
	}
	return 0
}

// write writes a result to a file.
func write(path string, r any) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// Read reads a result from a file.
func Read[R any](path string) (*R, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r R
	return &r, json.Unmarshal(text, &r)
}

// Table returns the heading of a table in Markdown and a line for each count, by name.
func Table(head string, counts map[string]int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| %s |\n| --- | ---: |\n", head)
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, human.Count(counts[name]))
	}
	return b.String()
}

// Seconds returns a duration in seconds, rounded to hundredths.
func Seconds(d time.Duration) float64 { return d.Round(10 * time.Millisecond).Seconds() }
