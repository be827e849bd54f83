//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package assigner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestFileLinks: whatever links a path goes through, two of them that lead to one file are one
// file: it has one lock, the next claim begins where the last one ended, and the links stay.
func TestFileLinks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		links [][2]string // from, to
		path  string
	}{
		{"to the file", [][2]string{{"link", "data/deep/window"}}, "link"},
		{"absolute", [][2]string{{"link", "$/data/deep/window"}}, "link"},
		{"to a link", [][2]string{{"link", "other"}, {"other", "data/deep/window"}}, "link"},
		{"to the folder", [][2]string{{"link", "data/deep"}}, "link/window"},
		{"of both", [][2]string{{"link", "data"}, {"file", "link/deep/window"}}, "file"},
		{"up from a link", [][2]string{{"link", "data/deep"}, {"file", "link/../deep/window"}}, "file"},
		{"up from a link in the path", [][2]string{{"link", "data/deep"}}, "link/../deep/window"},
		{"to itself in the end", [][2]string{{"data/deep/up", ".."}}, "data/deep/up/deep/window"},
	} {
		for _, exists := range []bool{true, false} {
			root := t.TempDir()
			if err := os.MkdirAll(filepath.Join(root, "data/deep"), 0o700); err != nil {
				t.Fatal(err)
			}
			for _, l := range tt.links {
				to := strings.Replace(l[1], "$", root, 1)
				if err := os.Symlink(to, filepath.Join(root, l[0])); err != nil {
					t.Fatal(err)
				}
			}
			target, path := filepath.Join(root, "data/deep/window"), root+"/"+tt.path
			from := time.Now().Add(time.Hour).UTC().Round(0)
			if exists {
				if err := (reservation{Worker: 7, Until: from}).write(target); err != nil {
					t.Fatal(err)
				}
			}
			for _, way := range [][2]string{{target, path}, {path, target}} {
				c := claimFile(t, way[0], 0)
				if got, _ := c.Window(); exists && !got.Equal(from) {
					t.Errorf("%s: by %s the window begins at %v, want %v", tt.name, way[0], got, from)
				}
				if _, err := onFile(way[1], 0).Assign(t.Context(), 7); !errors.Is(err,
					ErrWorkersExhausted) {
					t.Errorf("%s: a claim by %s after one by %s: %v, want ErrWorkersExhausted",
						tt.name, way[1], way[0], err)
				}
				var err error
				if from, err = c.Extend(t.Context(), time.Now().Add(2*time.Hour)); err != nil {
					t.Fatal(err)
				}
				if got := saved(t, target); !got.Equal(from) {
					t.Errorf("%s: the file has %v, want %v", tt.name, got, from)
				}
				Kill(c)
				exists = true
			}
			for _, l := range tt.links {
				if info, err := os.Lstat(filepath.Join(root, l[0])); err != nil ||
					info.Mode()&fs.ModeSymlink == 0 {
					t.Errorf("%s: the link %s became %v, %v", tt.name, l[0], info, err)
				}
			}
		}
	}
}

// TestFileOfTwoNames: a file with a hard link, links in a circle, and what is no file are refused.
func TestFileOfTwoNames(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	in := func(name string) string { return filepath.Join(root, name) }
	if err := (reservation{Worker: 7, Until: time.Now()}).write(in("window")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Link(in("window"), in("second")), os.Symlink("second", in("third")),
		os.Symlink("two", in("one")), os.Symlink("one", in("two")),
		os.Mkdir(in("folder"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"window": "window has 2 names, want 1", "second": "second has 2 names, want 1",
		"third": "second has 2 names, want 1", "one": "more than 40 symbolic links",
		"folder": "no regular file", "folder/": "no regular file",
	} {
		before, _ := os.ReadFile(in("window"))
		_, err := onFile(root+"/"+name, 0).Assign(t.Context(), 7)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("File %s: %v, want an error with %q", name, err, want)
		}
		if after, _ := os.ReadFile(in("window")); string(after) != string(before) {
			t.Errorf("File %s: the file became %q, want %q", name, after, before)
		}
	}
	if err := os.Remove(in("second")); err != nil {
		t.Fatal(err)
	}
	claimFile(t, in("window"), 0)
}

// TestFileTempIsLink: what lies where the new file is written is not written through.
func TestFileTempIsLink(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(old, new string) error{
		"symbolic": os.Symlink, "hard": os.Link,
	} {
		root := t.TempDir()
		path, other := filepath.Join(root, "window"), filepath.Join(root, "other")
		if err := os.WriteFile(other, []byte("other"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := link(other, path+".tmp"); err != nil {
			t.Fatal(err)
		}
		Kill(claimFile(t, path, 0))
		if text, err := os.ReadFile(other); err != nil || string(text) != "other" {
			t.Errorf("%s: the linked file became %q, %v", name, text, err)
		}
		claimFile(t, path, 0)
	}
}
