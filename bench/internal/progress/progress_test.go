package progress

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := &Bar{name: "suite", total: 4, done: 1, start: start, current: "something"}
	got := b.line(start.Add(10 * time.Second))
	for _, want := range []string{"suite", "[#######.......................]", " 25%", "30s left", "something"} {
		if !strings.Contains(got, want) {
			t.Errorf("line = %q, want %q in it", got, want)
		}
	}
	b.done = 9 // a suite that miscounts must not draw beyond its bar
	if got := b.line(start.Add(time.Second)); !strings.Contains(got, "100%") {
		t.Errorf("line = %q, want 100%%", got)
	}
}

// A file is no terminal: it gets a line at the start and one at the end, whatever happens between.
func TestFileGetsLinesOnly(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	b := New(f, "suite", 2)
	b.Step("one")
	b.Step("two")
	b.End()
	out, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(string(out), "\n"); lines != 2 || strings.Contains(string(out), "\r") {
		t.Errorf("output is %q, want two plain lines", out)
	}
}
