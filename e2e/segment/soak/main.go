package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"
)

// config is what the flags say.
type config struct {
	duration, most, every time.Duration
	processes             int
	seed                  uint64
	broken                bool
}

func main() {
	if text := os.Getenv(jobEnv); text != "" {
		os.Exit(work(text))
	}
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// command is the main function without the process's own arguments and streams. It returns the exit
// status.
func command(args []string, stdout, stderr io.Writer) int {
	var c config
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.DurationVar(&c.duration, "duration", 10*time.Minute, "time for which faults are injected")
	set.DurationVar(&c.most, "most", 8*time.Second, "longest time that a fault lasts")
	set.DurationVar(&c.every, "progress", 10*time.Second, "time between two lines of progress")
	set.IntVar(&c.processes, "processes", 10, "number of processes at one time")
	set.Uint64Var(&c.seed, "seed", rand.Uint64(), "seed of the faults")
	set.BoolVar(&c.broken, "broken", false, "set a counter back halfway, which the run must find")
	out := set.String("json", "", "write the result to this file")
	show := set.String("show", "",
		"print the result in this file as the report shows it, and run nothing")
	if err := set.Parse(args); err != nil {
		return 2
	}
	fail := func(err error) int {
		fmt.Fprintln(stderr, "soak:", err)
		return 1
	}
	if *show != "" {
		r, err := readResult(*show)
		if err != nil {
			return fail(err)
		}
		fmt.Fprint(stdout, r.markdown())
		return 0
	}
	if c.processes < 2 || c.duration <= 0 || c.most < 100*time.Millisecond || c.every <= 0 {
		fmt.Fprintln(stderr, "soak: want -processes of at least 2, -most of at least 100ms, and "+
			"times above 0")
		return 2
	}
	fmt.Fprintf(stdout, "soak: %v, seed %d, %d processes\n", c.duration, c.seed, c.processes)
	r, err := run(c, stdout)
	if r == nil {
		return fail(err)
	}
	fmt.Fprint(stdout, "\n", r.markdown())
	if *out != "" {
		text, jsonErr := json.MarshalIndent(r, "", "  ")
		if jsonErr == nil {
			jsonErr = os.WriteFile(*out, append(text, '\n'), 0o644)
		}
		if jsonErr != nil {
			return fail(jsonErr)
		}
	}
	switch {
	case err != nil:
		return fail(err)
	case r.Twice > 0 || r.Falls > 0:
		return fail(fmt.Errorf("%d ids came twice, such as %s; %d did not rise, such as %s",
			r.Twice, r.First, r.Falls, r.Fall))
	}
	return 0
}
