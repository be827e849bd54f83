package assigner

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Env returns an Assigner that reads the worker id, a decimal number, from the environment
// variable name at each Assign. The deployment must ensure that no other generator runs with the
// same number. A plain restart with the same number repeats no id as long as the clock does not
// go back: see LocalOptions, which may be nil.
//
// Assign fails when the variable is not set, empty or not a number. It fails with
// ErrWorkersExhausted when the number is not in [0, maxWorker], or when another open claim of this
// process has the same number and layout. It waits up to a second, or a tick if that is longer, for
// the window to begin. The error shows the variable's value only if that is a number.
func Env(name string, options *LocalOptions) Assigner {
	return newLocal("env", func(maxWorker int64) (int64, error) {
		return envWorker(name, os.Getenv(name), maxWorker)
	}, options)
}

// maxShown is the length of the longest number that an error shows, sign included.
const maxShown = 20

// envWorker returns the worker id that the variable's value stands for.
func envWorker(name, value string, maxWorker int64) (int64, error) {
	if value == "" {
		return 0, fmt.Errorf("variable %s is not set, want a worker id in 0..%d", name, maxWorker)
	}
	worker, err := strconv.ParseInt(value, 10, 64)
	if err == nil && worker >= 0 && worker <= maxWorker {
		return worker, nil
	}
	// The wrong variable may hold a secret, which a number of this length is not.
	shown := fmt.Sprintf("%d characters long", len(value))
	digits := value
	if value[0] == '+' || value[0] == '-' {
		digits = value[1:]
	}
	if digits != "" && strings.Trim(digits, "0123456789") == "" && len(value) <= maxShown {
		shown = value
	}
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("variable %s is %s, want a worker id in 0..%d", name, shown, maxWorker)
	}
	return 0, fmt.Errorf("%w: variable %s is %s, want 0..%d", ErrWorkersExhausted, name, shown,
		maxWorker)
}
