package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/test/internal/soak"
	"github.com/uidring/uidring/test/soak/segments"
)

// config is what the flags say.
type config struct {
	soak.Config
	window    time.Duration // of the leases
	authority string
	broken    string // see job
	commit    string
}

// workerName is the name of the worker processes.
const workerName = "ids"

func main() {
	soak.Worker(workerName, work)
	segments.Worker()
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "segments" {
		os.Exit(segments.Command(args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(command(args, os.Stdout, os.Stderr))
}

// command is the main function without the process's own arguments and streams. It returns the exit
// status.
func command(args []string, stdout, stderr io.Writer) int {
	// The commit is that from before anything changes the checkout.
	c := config{Config: soak.Config{Processes: 9}, commit: commit()}
	set := flag.NewFlagSet("soak", flag.ContinueOnError)
	set.DurationVar(&c.window, "window", 3*time.Second, "window of the leases")
	set.StringVar(&c.authority, "authority", "mariadb",
		"where worker ids come from: "+names())
	set.StringVar(&c.broken, "broken", "", "inject a bug that the run must find: "+endless+
		", generators ignore the ends of their windows, "+early+", windows begin before the last "+
		"one on the worker id has ended, "+unrepaired+", a restored store is not repaired, or "+
		hasty+", an owner writes an entry that is gone with the end that it knows; "+endless+
		" needs a server, "+hasty+" a database")
	check := func() error {
		_, bug := exposes[c.broken]
		switch {
		case c.broken != "" && !bug:
			return fmt.Errorf("-broken is %q, want %s, %s, %s or %s", c.broken, endless, early,
				unrepaired, hasty)
		case c.window < time.Second:
			return fmt.Errorf("-window is %v, want at least 1s", c.window)
		case authorities[c.authority] == nil:
			return fmt.Errorf("-authority is %q, want %s", c.authority, names())
		}
		return nil
	}
	return soak.Command(args, stdout, stderr, &c.Config, set, check,
		func(ctx context.Context, progress io.Writer) (*result, error) {
			return run(ctx, c, progress)
		})
}

// names returns the values of -authority.
func names() string {
	return strings.Join(slices.Sorted(maps.Keys(authorities)), ", ")
}
