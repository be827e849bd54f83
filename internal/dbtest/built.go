package dbtest

import (
	"fmt"
	"os"
	"path/filepath"
)

// built returns the path of a program that a target of the Makefile puts into the folder bin of the
// repository.
func built(program, target string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("dbtest: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "bin", filepath.FromSlash(program))
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%w: no bin/%s here or above, which make %s brings",
				ErrNoServer, program, target)
		}
	}
}
