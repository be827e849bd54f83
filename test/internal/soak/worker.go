// Package soak has what the soaks share: worker processes that write the ids they get to pipes, the
// fleet that these form, faults at random times, and the command line.
package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/uidring/uidring/segment"
)

// jobEnv begins the name of the environment variable that makes this program a worker process, and
// that of the worker ends it. Its value is the work, as JSON.
const jobEnv = "UIDRING_SOAK_JOB_"

// Worker does the work of a worker process of that name and exits, if this is one, else it returns.
// run is to return when ctx ends, which it does with the standard input. Its error does not count
// then.
func Worker[J any](name string, run func(ctx context.Context, job J, out *Output) error) {
	text := os.Getenv(jobEnv + name)
	if text == "" {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until it ends, however it does
		cancel()
	}()
	var job J
	var out Output
	err := json.Unmarshal([]byte(text), &job)
	if err == nil {
		err = run(ctx, job, &out)
	}
	if ctx.Err() != nil {
		err = nil
	}
	if err = errors.Join(err, out.err); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// SourceError returns what a worker process reports of an error of package segment or number: its
// text if it must not happen.
func SourceError(err error) string {
	for _, known := range []error{segment.ErrRangeWentBack, segment.ErrBadRange,
		segment.ErrExhausted, segment.ErrUnknownTag, segment.ErrOptions, segment.ErrFormat} {
		if errors.Is(err, known) {
			return err.Error()
		}
	}
	return "database away or busy"
}
