package assigner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
)

// Env returns an Assigner that reads the worker id, a decimal number, from the environment variable name at each Assign.
// That no other generator has the same number is for whoever sets the variable to guarantee.
//
// The window begins at the Assign and has no end. A process that starts again leaves the tick alone in which the one
// before may have stopped; that is no protection if its clock has gone back meanwhile, or if the one before was ahead of
// its clock.
//
// Assign fails when the variable is not set, which includes an empty one, or not a number, and with ErrWorkersExhausted
// when the number is not in [0, maxWorker]. It does no I/O.
func Env(name string) Assigner { return env(name) }

type env string

// maxShown is the length up to which a value gets into an error. A longer one is no number, and may be a secret that the
// wrong variable holds.
const maxShown = 24

func (e env) Assign(ctx context.Context, maxWorker int64) (Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("assigner: env: %w", err)
	}
	value := os.Getenv(string(e))
	if value == "" {
		return nil, fmt.Errorf("assigner: env: variable %s is not set, want a worker id in 0..%d", string(e), maxWorker)
	}
	worker, err := strconv.ParseInt(value, 10, 64)
	shown := strconv.Quote(value)
	if len(value) > maxShown {
		shown = fmt.Sprintf("%d characters long", len(value))
	}
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return nil, fmt.Errorf("assigner: env: variable %s is %s, want a worker id in 0..%d", string(e), shown, maxWorker)
	case err != nil, worker < 0, worker > maxWorker:
		return nil, fmt.Errorf("%w: variable %s is %s, want 0..%d", ErrWorkersExhausted, string(e), shown, maxWorker)
	}
	return newSinceClaim(worker), nil
}
