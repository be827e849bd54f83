//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package assigner

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// lockFile opens the file at path, creates it if it is missing, and locks it until it is closed.
// The end of the process closes it too. lockFile returns errLocked if the file is locked already.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, &os.PathError{Op: "flock", Path: path, Err: err}
}

// links returns how many names a file has.
func links(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink) // its type differs between systems
	}
	return 1
}
