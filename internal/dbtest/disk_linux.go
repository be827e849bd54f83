package dbtest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

// SmallDisk gives the test a disk of its own, of 192 MiB, and returns its folder, where servers
// that are started from here on keep their data. A test that may not mount one is skipped. It sets
// TMPDIR, so the test cannot be parallel.
func SmallDisk(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("none", dir, "tmpfs", 0, "size=192m")
	if errors.Is(err, fs.ErrPermission) {
		t.Skipf("skipped: a disk of the test's own: mount: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	t.Setenv("TMPDIR", dir)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// FillDisk makes the file at path as large as there is room.
func FillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, size := range []int{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, size))
		}
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
			t.Fatal(err)
		}
	}
}
