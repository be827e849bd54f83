package repocheck

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// TestCloneUntouched: go doc and go list rewrite no file of a clone. Both read the modules of the
// whole workspace, and the go command adds every checksum that go.work.sum lacks to it. A failure
// means that a requirement has changed: run "go mod graph" in the repository's folder and commit
// go.work.sum.
func TestCloneUntouched(t *testing.T) {
	t.Parallel()
	clone := t.TempDir()
	files := find(t, func(p string) bool {
		name := path.Base(p)
		return strings.HasPrefix(name, "go.") || path.Dir(p) == "ringbuffer"
	})
	for _, file := range files {
		to := filepath.Join(clone, filepath.FromSlash(file))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(read(t, file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{"doc", "./ringbuffer", "Ring"},
		{"list", "./ringbuffer"},
		{"list", "-m", "all"},
		{"mod", "graph"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = clone
		// Without a network a command may fail; it must not write even so.
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Logf("go %s: %v\n%.300s", strings.Join(args, " "), err, out[max(0, len(out)-300):])
		}
		for _, file := range files {
			after, err := os.ReadFile(filepath.Join(clone, filepath.FromSlash(file)))
			if err != nil || string(after) != read(t, file) {
				t.Fatalf("go %s rewrites %s: %v, want it as it is", strings.Join(args, " "), file, err)
			}
		}
	}
}
