//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package assigner

import (
	"errors"
	"fmt"
	"os"
	"runtime"
)

// lockFile fails: the standard library has no file lock for this system.
func lockFile(path string) (*os.File, error) {
	return nil, fmt.Errorf("locking %s on %s: %w", path, runtime.GOOS, errors.ErrUnsupported)
}
