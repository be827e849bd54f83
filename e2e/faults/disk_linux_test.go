package faults

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestDisk fills the disk under a server, to the last byte, for longer than a window. It needs the right to mount one; TestFull has the
// errors without. A row that changes in its place needs no room, so that leases may go on; if they do not, the errors are
// the promised ones.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=192m"); err != nil {
		t.Skipf("skipped: a disk of the test's own: mount: %v", err)
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
	srv := dbtest.MariaDB(t)
	r := newRig(t, srv)
	goOn(t, r.users, "before the disk is full")
	full := filepath.Join(dir, "full")
	fill(t, full)
	for end := time.Now().Add(2 * window); time.Now().Before(end); {
		goOn(t, r.users[2:], "on a full disk, of a worker id that needs no database")
		fill(t, full) // what the server has freed
		time.Sleep(50 * time.Millisecond)
	}
	_, expired := r.users[0].count("expired")
	t.Logf("%d errors of a lease on a full disk", expired)
	if err := os.Remove(full); err != nil {
		t.Fatal(err)
	}
	goOn(t, r.users, "after the disk was full")
	onlyPromised(t, r)
}

// fill makes the file at path as large as there is room.
func fill(t *testing.T, path string) {
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
