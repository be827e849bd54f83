package assigner

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// mountsEnv has TestFileMounted mount, in a process with mounts of its own.
const mountsEnv = "ASSIGNER_TEST_MOUNTS"

// TestFileMounted: where a folder is mounted at a second place, the file in it has one lock. A file that
// is mounted itself is refused, because it cannot be replaced there: its lock would be another.
func TestFileMounted(t *testing.T) {
	t.Parallel()
	if os.Getenv(mountsEnv) == "" {
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestFileMounted$", "-test.v")
		cmd.Env = append(os.Environ(), mountsEnv+"=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "--- SKIP") {
			t.Skip("skipped: no rights to mount: ", err, string(out))
		}
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	root := t.TempDir()
	in := func(name string) string { return filepath.Join(root, name) }
	for _, folder := range []string{"data", "same", "file"} {
		if err := os.Mkdir(in(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(in("file/window"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := claimFile(t, in("data/window"), 0)
	for from, to := range map[string]string{"data": "same", "data/window": "file/window"} {
		if err := syscall.Mount(in(from), in(to), "", syscall.MS_BIND, ""); err != nil {
			t.Skip("skipped: no rights to mount: ", err)
		}
		defer syscall.Unmount(in(to), syscall.MNT_DETACH)
	}
	if _, err := onFile(in("same/window"), 0).Assign(t.Context(), 7); !errors.Is(err,
		ErrWorkersExhausted) {
		t.Errorf("by the folder's other place: %v, want that the file is locked", err)
	}
	_, until := c.Window()
	for range 2 {
		if _, err := onFile(in("file/window"), 0).Assign(t.Context(), 7); !errors.Is(err, syscall.EBUSY) {
			t.Errorf("by the file's other place: %v, want that it cannot be replaced", err)
		}
		if err := c.Release(t.Context(), until); err != nil { // no lock keeps the second one away
			t.Error(err)
		}
	}
	if from, _ := claimFile(t, in("same/window"), 0).Window(); from.Before(until) {
		t.Errorf("a window begins at %v, before the last one ended at %v", from, until)
	}
}
