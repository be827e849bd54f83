package segments

import (
	"context"
	"flag"
	"io"

	"github.com/uidring/uidring/test/internal/soak"
)

// config is what the flags say.
type config struct {
	soak.Config
	broken bool
}

// Command is the soak without the process's own arguments and streams. It returns the exit status.
func Command(args []string, stdout, stderr io.Writer) int {
	c := config{Config: soak.Config{Processes: 10}}
	set := flag.NewFlagSet("soak segments", flag.ContinueOnError)
	set.BoolVar(&c.broken, "broken", false, "set a counter back halfway, which the run must find")
	return soak.Command(args, stdout, stderr, &c.Config, set, func() error { return nil },
		func(ctx context.Context, progress io.Writer) (*result, error) {
			return run(ctx, c, progress)
		})
}

// Worker does the work of a worker process and exits, if this is one, else it returns.
func Worker() { soak.Worker("segments", work) }
