package zookeeper

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile opens path and locks it for as long as it stays open. The kernel drops the lock when the
// process ends, however it ends. It does not wait.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("in use by another Assigner")
		}
		return nil, fmt.Errorf("locking: %w", err)
	}
	return f, nil
}

// bootID returns what the kernel drew at random when it started.
func bootID() (string, error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("boot id: %w", err)
	}
	id := string(bytes.TrimSpace(b))
	if id == "" {
		return "", errors.New("boot id: empty")
	}
	return id, nil
}

// identity returns what tells f from every other file of this kernel, copies of it included.
func identity(f *os.File) (device, inode uint64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, errors.New("the system does not tell the file's inode")
	}
	return uint64(st.Dev), uint64(st.Ino), nil //nolint:unconvert // narrower elsewhere
}
