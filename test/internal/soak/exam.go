package soak

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// Try runs a soak's command in a test, and returns its exit status, its output and its result. It
// skips the test if there is no server of the kind that start starts.
func Try[R any](t *testing.T, start func(...string) (*dbtest.Server, error),
	command func(args []string, stdout, stderr io.Writer) int, args ...string) (int, string, *R) {
	t.Helper()
	dbtest.Long(t, "soak")
	srv, err := start() // only to find out; a run starts its own
	if errors.Is(err, dbtest.ErrNoServer) && os.Getenv("UIDRING_REQUIRE_SERVERS") != "1" {
		t.Skipf("skipped: soak: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	file := filepath.Join(t.TempDir(), "result.json")
	var out bytes.Buffer
	status := command(append([]string{"-json", file, "-progress", "1s"}, args...), &out, &out)
	r, err := Read[R](file)
	if err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	return status, out.String(), r
}

// Refused tests that a soak's command refuses each of args before it starts anything.
func Refused(
	t *testing.T, command func(args []string, stdout, stderr io.Writer) int, args ...string,
) {
	t.Helper()
	for _, arg := range append(args, "-duration=0s", "-duration=x", "-processes=1", "-most=1ms",
		"-progress=0s", "-nosuch") {
		var out bytes.Buffer
		if got := command([]string{arg}, &out, &out); got != 2 || out.Len() == 0 {
			t.Errorf("soak %s = %d, want 2: %s", arg, got, &out)
		}
	}
	var out bytes.Buffer
	none := filepath.Join(t.TempDir(), "none.json")
	if got := command([]string{"-show", none}, &out, &out); got != 1 {
		t.Errorf("soak -show of no file = %d, want 1", got)
	}
}

// Shown tests that test/soak/README.md shows the result in file as program's -show prints it: all
// of it and nothing else. All paths are below root, and mark is what the comments around the result
// begin with. It returns the result.
func Shown[R Result](t *testing.T, root, mark, program, file string) *R {
	t.Helper()
	r, err := Read[R](filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "test/soak/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text),
		"<!-- "+mark+": go run ./"+program+" -show "+file+" -->\n\n")
	got, _, closed := strings.Cut(rest, "\n<!-- end of "+mark+" -->")
	if !found || !closed {
		t.Fatalf("test/soak/README.md has lost the marks around %s", mark)
	}
	if want := (*r).Markdown(); got != want {
		t.Errorf("test/soak/README.md has\n%s\nwant what soak -show prints:\n%s", got, want)
	}
	return r
}
