package workernode_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestAssignOnFullDisk fills the disk under a server to the last byte and assigns until the server has no room for one more row: Assign waits,
// and succeeds when there is room again. It needs the right to mount a disk; TestAssignFull has the errors without.
func TestAssignOnFullDisk(t *testing.T) {
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
	name := srv.CreateDB(t)
	db := connect(t, srv.DSN(name))
	if err := workernode.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	full := filepath.Join(dir, "full")
	seen := map[int64]bool{}
	long := strings.Repeat("x", 64)
	for _, kind := range []string{"disposable", "leased"} {
		fill(t, full)
		waited := 0
		logger := whenWaiting(func() {
			waited++
			if err := os.Remove(full); err != nil {
				t.Error(err)
			}
		})
		a := workernode.Disposable(db, &workernode.DisposableOptions{Host: long, Port: long, Logger: logger})
		if kind == "leased" {
			a = workernode.Leased(db, &workernode.LeasedOptions{Owner: long + long, Logger: logger})
		}
		for n := 0; waited == 0; n++ {
			c, err := a.Assign(within(t, 30*time.Second), maxWorker)
			if err != nil || n == 5000 {
				t.Fatalf("%s: Assign %d on a full disk = %v, %v", kind, n, c, err)
			}
			if seen[c.Worker()] {
				t.Errorf("%s: worker %d a second time", kind, c.Worker())
			}
			seen[c.Worker()] = true
		}
	}
	t.Logf("%d worker ids", len(seen))
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
