// Package examples has programs to copy.
package examples

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestExamplesCopied: a copy of this folder outside of the repository is built by the two lines that
// its page gives.
func TestExamplesCopied(t *testing.T) {
	t.Parallel()
	dbtest.Long(t, "copied examples")
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("skipped: shell suite: sh not found in PATH")
	}
	clone, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(lines) != 1 || strings.Count(lines[0][1], "\n") != 2 {
		t.Fatalf("README.md has %q, want two lines", lines)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), shell, "-e", "-c", lines[0][1])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CLONE="+clone, "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
