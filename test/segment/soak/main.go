package main

import (
	"context"
	"flag"
	"io"
	"os"

	"github.com/uidring/uidring/test/internal/soak"
)

// config is what the flags say.
type config struct {
	soak.Config
	broken bool
}

func main() {
	soak.Worker(work)
	os.Exit(command(os.Args[1:], os.Stdout, os.Stderr))
}

// command is the main function without the process's own arguments and streams. It returns the exit
// status.
func command(args []string, stdout, stderr io.Writer) int {
	c := config{Config: soak.Config{Processes: 10}}
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	set.BoolVar(&c.broken, "broken", false, "set a counter back halfway, which the run must find")
	return soak.Command(args, stdout, stderr, &c.Config, set, func() error { return nil },
		func(ctx context.Context, progress io.Writer) (*result, error) {
			return run(ctx, c, progress)
		})
}
