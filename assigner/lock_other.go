//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package assigner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
)

// lockFile fails: the standard library has no file lock for this system.
func lockFile(path string) (*os.File, error) {
	return nil, fmt.Errorf("locking %s on %s: %w", path, runtime.GOOS, errors.ErrUnsupported)
}

// links is not asked for: lockFile fails.
func links(fs.FileInfo) int { return 1 }
