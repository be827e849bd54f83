package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/human"
)

// TestMain runs the tests, or in a process that a run has started the job of that process.
func TestMain(m *testing.M) {
	if text := os.Getenv(jobEnv); text != "" {
		os.Exit(work(text))
	}
	os.Exit(m.Run())
}

// soak runs the program and returns its exit status, its output and its result. It skips the test if
// the program cannot run.
func soak(t *testing.T, args ...string) (status int, said string, r *result) {
	t.Helper()
	srv, err := dbtest.NewMariaDB() // only to find out; a run starts its own
	if errors.Is(err, dbtest.ErrNoServer) && os.Getenv("UIDRING_REQUIRE_SERVERS") != "1" {
		t.Skipf("skipped: soak: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	srv.Close()
	file := filepath.Join(t.TempDir(), "result.json")
	var out bytes.Buffer
	status = command(append([]string{"-json", file, "-progress", "1s"}, args...), &out, &out)
	if r, err = readResult(file); err != nil {
		t.Fatalf("%v: %s", err, &out)
	}
	return status, out.String(), r
}

// TestSoak is a short run: no id comes twice, there are faults of both sorts, and the summary has the
// figures of the file.
func TestSoak(t *testing.T) {
	t.Parallel()
	status, said, r := soak(t, "-duration", "5s", "-window", "1s", "-most", "2s", "-seed", "1")
	if status != 0 || r.Duplicates != 0 || len(r.Failures) != 0 || r.Seed != 1 {
		t.Errorf("status %d, %+v, want 0 and no duplicates\n%s", status, r, said)
	}
	var server, process int64
	for name, n := range r.Faults {
		if strings.HasPrefix(name, "process") {
			process += n
		} else {
			server += n
		}
	}
	if r.IDs < 10_000 || server == 0 || process == 0 {
		t.Errorf("%d ids, %d faults of server and network, %d of processes, want some of each\n%s",
			r.IDs, server, process, said)
	}
	if !strings.Contains(said, human.Count(r.IDs)) || !strings.Contains(said, r.markdown()) {
		t.Errorf("the output does not have the file's figures:\n%s", said)
	}
}

// TestSoakDetects: a run finds an injected bug within seconds, and its exit status says so. The bugs
// are generators that ignore the ends of their windows, and windows that begin before the last one
// has ended, which by itself makes no id come twice.
func TestSoakDetects(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		broken string
		found  func(r *result) bool
	}{
		{endless, func(r *result) bool { return r.Outside > 0 && len(r.Examples) > 0 }},
		{early, func(r *result) bool { return strings.Contains(r.Overlap, "owned twice") }},
	} {
		t.Run(tt.broken, func(t *testing.T) {
			t.Parallel()
			status, said, r := soak(t, "-duration", "30s", "-window", "1s", "-most", "2s",
				"-broken", tt.broken)
			if status != 1 || !tt.found(r) || !strings.Contains(said, "found after") {
				t.Errorf("status %d, %+v, want 1 and the bug in the result\n%s", status, r, said)
			}
			if r.Found <= 0 || r.Found > 30 {
				t.Errorf("found after %v s, want it within the run's 30 s", r.Found)
			}
			t.Logf("found after %v s", r.Found)
		})
	}
}

// TestFlags: flags out of range are refused before anything is started.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"-duration=0s", "-processes=1", "-window=1ms", "-most=1ms",
		"-progress=0s", "-nosuch", "-broken=x", "-duration=x"} {
		var out bytes.Buffer
		if got := command([]string{args}, &out, &out); got != 2 || out.Len() == 0 {
			t.Errorf("soak %s = %d, want 2: %s", args, got, &out)
		}
	}
	var out bytes.Buffer
	if got := command([]string{"-show", filepath.Join(t.TempDir(), "none.json")}, &out, &out); got != 1 {
		t.Errorf("soak -show of no file = %d, want 1", got)
	}
}

// TestResult: a result that is written to a file and read back is the same.
func TestResult(t *testing.T) {
	t.Parallel()
	want := &result{IDs: 1234567, Seed: 1<<64 - 1, Faults: map[string]int64{"a": 1},
		Errors: map[string]int64{"b": 1000}, Failures: []string{}}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readResult(file)
	if err != nil || got.markdown() != want.markdown() {
		t.Errorf("read back: %+v, %v, want %+v", got, err, want)
	}
	for _, part := range []string{"1,234,567", "18446744073709551615", "| a | 1 |", "| b | 1,000 |"} {
		if !strings.Contains(want.markdown(), part) {
			t.Errorf("markdown does not contain %q:\n%s", part, want.markdown())
		}
	}
}
