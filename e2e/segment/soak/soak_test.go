package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
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
	srv, err := dbtest.NewPostgres() // only to find out; a run starts its own
	if errors.Is(err, dbtest.ErrNoServer) && os.Getenv("UIDRING_REQUIRE_SERVERS") != "1" {
		t.Skipf("skipped: soak of segments: %v", err)
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

// TestSoak is a short run: no id comes twice, there are faults of both sorts, and a third ticket
// server joins.
func TestSoak(t *testing.T) {
	t.Parallel()
	status, said, r := soak(t, "-duration", "5s", "-most", "500ms", "-processes", "3", "-seed", "1")
	if status != 0 || r.Twice != 0 || r.Falls != 0 || len(r.Failures) != 0 {
		t.Errorf("status %d, %+v, want 0 and no id twice\n%s", status, r, said)
	}
	var server, process int64
	for name, n := range r.Faults {
		if strings.HasPrefix(name, "process") {
			process += n
		} else {
			server += n
		}
	}
	for name, n := range r.IDs {
		if n < 10 {
			t.Errorf("%d ids of %s, want some", n, name)
		}
	}
	if server == 0 || process == 0 || r.Faults["ticket servers: a plan carried out, or settings repaired"] == 0 {
		t.Errorf("faults %v, want some of servers and processes, and a plan\n%s", r.Faults, said)
	}
}

// TestSoakDetects: a counter that was set back is found.
func TestSoakDetects(t *testing.T) {
	t.Parallel()
	status, said, r := soak(t, "-duration", "4s", "-most", "100ms", "-processes", "2", "-broken", "-seed", "2")
	if status != 1 || r.Twice == 0 && len(r.Failures) == 0 {
		t.Errorf("status %d, %+v, want 1 and the ids that came twice\n%s", status, r, said)
	}
}

// TestFlags: flags out of range are refused before anything is started.
func TestFlags(t *testing.T) {
	t.Parallel()
	for _, arg := range []string{"-duration=0s", "-processes=1", "-most=1ms", "-progress=0s", "-nosuch"} {
		var out bytes.Buffer
		if got := command([]string{arg}, &out, &out); got != 2 || out.Len() == 0 {
			t.Errorf("soak %s = %d, want 2: %s", arg, got, &out)
		}
	}
}
