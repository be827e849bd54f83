package repocheck

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// root is the repository's folder, seen from this package's.
const root = "../.."

// find returns the paths below root, relative to it, of the files for which keep is true.
func find(t *testing.T, keep func(path string) bool) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (name == ".git" || name == "bin" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err == nil && keep(filepath.ToSlash(rel)) {
			found = append(found, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Fatal("nothing found: this test looks in the wrong place")
	}
	return found
}

// read returns the text of the file at path, relative to root.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// exists reports whether path, relative to root, is there.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
	return err == nil
}

func markdown(t *testing.T) []string {
	t.Helper()
	return find(t, func(path string) bool { return strings.HasSuffix(path, ".md") })
}

// TestFileSize holds every source file to 400 lines: beyond that it holds more than one noun.
func TestFileSize(t *testing.T) {
	t.Parallel()
	const most = 400
	for _, path := range find(t, func(path string) bool {
		return strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go")
	}) {
		if n := strings.Count(read(t, path), "\n"); n > most {
			t.Errorf("%s has %d lines, want at most %d", path, n, most)
		}
	}
}

// TestScriptsRun checks that what is meant to be started has the permission for it.
func TestScriptsRun(t *testing.T) {
	t.Parallel()
	for _, path := range find(t, func(path string) bool { return path == ".ci/run" }) {
		info, err := os.Stat(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode()&0o111 == 0 && os.PathSeparator == '/' {
			t.Errorf("%s is not executable", path)
		}
	}
}
