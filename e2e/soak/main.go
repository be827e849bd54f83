package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// config is what the flags say.
type config struct {
	duration  time.Duration
	window    time.Duration // of the leases
	most      time.Duration // the longest time that a fault lasts
	authority string
	processes int // at one time
	seed      uint64
	broken    string        // see job
	every     time.Duration // between two lines of progress
	commit    string
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
	c := config{commit: commit()} // before anything changes the checkout
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	set.SetOutput(stderr)
	set.DurationVar(&c.duration, "duration", 10*time.Minute, "time for which faults are injected")
	set.DurationVar(&c.window, "window", 3*time.Second, "window of the leases")
	set.DurationVar(&c.most, "most", 8*time.Second, "longest time that a fault lasts")
	set.IntVar(&c.processes, "processes", 8, "number of processes at one time")
	set.StringVar(&c.authority, "authority", "mariadb",
		"where worker ids come from: mariadb, etcd or kubernetes")
	set.Uint64Var(&c.seed, "seed", rand.Uint64(), "seed of the faults")
	set.StringVar(&c.broken, "broken", "", "inject a bug that the run must find: "+endless+
		", generators ignore the ends of their windows, or "+early+
		", windows begin before the last one on the worker id has ended")
	set.DurationVar(&c.every, "progress", 10*time.Second, "time between two lines of progress")
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
	if c.broken != "" && c.broken != endless && c.broken != early {
		fmt.Fprintf(stderr, "soak: -broken is %q, want %s or %s\n", c.broken, endless, early)
		return 2
	}
	if c.processes < 2 || c.duration <= 0 || c.window < time.Second ||
		c.most < 100*time.Millisecond || c.every <= 0 {
		fmt.Fprintln(stderr, "soak: want -processes of at least 2, -window of at least 1s, "+
			"-most of at least 100ms, and times above 0")
		return 2
	}
	if authorities[c.authority] == nil {
		fmt.Fprintf(stderr, "soak: -authority is %q, want mariadb, etcd or kubernetes\n",
			c.authority)
		return 2
	}
	fmt.Fprintf(stdout, "soak: %v, seed %d, %d processes, windows of %v\n", c.duration, c.seed,
		c.processes, c.window)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	begin := time.Now()
	r, err := run(ctx, c, stdout)
	if ctx.Err() != nil && err == nil {
		err = fmt.Errorf("ended by a signal after %v", time.Since(begin).Round(time.Second))
	}
	if r != nil {
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
	}
	if err != nil {
		return fail(err)
	}
	if r.Duplicates > 0 || r.Foreign > 0 || r.Outside > 0 || r.Overlap != "" {
		return fail(fmt.Errorf("found after %.1f s: %d ids came twice and %d lie outside of their "+
			"windows, such as %v; %d are below 0; windows overlap: %q",
			r.Found, r.Duplicates, r.Outside, r.Examples, r.Foreign, r.Overlap))
	}
	return 0
}
