package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/test/internal/soak"
)

// TestMain runs the tests, or in a process that a run has started the job of that process.
func TestMain(m *testing.M) {
	soak.Worker(workerName, work)
	os.Exit(m.Run())
}

// try runs the program and returns its exit status, its output and its result.
func try(t *testing.T, args ...string) (status int, said string, r *result) {
	t.Helper()
	return soak.Try[result](t, dbtest.NewMariaDB, command, args...)
}

// TestSoak is a short run: no id is repeated, there are faults of both sorts, and the summary has the
// figures of the file. The standbys have fail-overs.
func TestSoak(t *testing.T) {
	t.Parallel()
	for _, authority := range []string{"mariadb", "sqlite", "standbys"} {
		t.Run(authority, func(t *testing.T) {
			t.Parallel()
			testSoak(t, authority)
		})
	}
}

// TestSoakGroups is the same of MySQL's groups.
func TestSoakGroups(t *testing.T) {
	dbtest.MySQLGroups(t)
	for _, authority := range []string{"group-replication", "semisync", "semisync-after-commit"} {
		t.Run(authority, func(t *testing.T) { testSoak(t, authority) })
	}
}

func testSoak(t *testing.T, authority string) {
	status, said, r := try(t, "-authority", authority, "-duration", "5s", "-window", "1s", "-most", "2s",
		"-seed", "1")
	if status != 0 || r.Duplicates != 0 || len(r.Failures) != 0 || r.Seed != 1 {
		t.Errorf("status %d, %+v, want 0 and no duplicates\n%s", status, r, said)
	}
	process, server := soak.Split(r.Faults)
	if r.IDs < 10_000 || server == 0 || process == 0 {
		t.Errorf("%d ids, %d faults of server and network, %d of processes, want some of each\n%s",
			r.IDs, server, process, said)
	}
	if !strings.Contains(said, human.Count(r.IDs)) || !strings.Contains(said, r.Markdown()) {
		t.Errorf("the output does not have the file's figures:\n%s", said)
	}
}

// TestSoakDetects: a run finds an injected bug within seconds, and its exit status says so. The bugs
// are generators that ignore the ends of their windows, windows that begin before the last one has
// ended, which by itself makes no id repeat, and a store that was restored and not repaired.
func TestSoakDetects(t *testing.T) {
	t.Parallel()
	twice := func(r *result) bool { return strings.Contains(r.Overlap, "owned twice") }
	for _, tt := range []struct {
		broken, authority string
		found             func(r *result) bool
	}{
		{endless, "mariadb", func(r *result) bool { return r.Outside > 0 && len(r.Examples) > 0 }},
		{early, "sqlite", twice},
		{unrepaired, "sqlite", twice},
		{hasty, "sqlite", twice},
	} {
		t.Run(tt.broken, func(t *testing.T) {
			t.Parallel()
			status, said, r := try(t, "-authority", tt.authority, "-duration", "1m", "-window", "1s",
				"-most", "200ms", "-processes", "4", "-broken", tt.broken)
			if status != 1 || !tt.found(r) || !strings.Contains(said, "found after") {
				t.Errorf("status %d, %+v, want 1 and the bug in the result\n%s", status, r, said)
			}
			if r.FoundAfter <= 0 || r.FoundAfter > 90 {
				t.Errorf("found after %v s, want it within the run of 60 s", r.FoundAfter)
			}
			t.Logf("found after %v s", r.FoundAfter)
		})
	}
}

// TestFlags: flags out of range are refused before anything is started.
func TestFlags(t *testing.T) {
	t.Parallel()
	soak.Refused(t, command, "-window=1ms", "-broken=x", "-authority=x")
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
	got, err := soak.Read[result](file)
	if err != nil || got.Markdown() != want.Markdown() {
		t.Errorf("read back: %+v, %v, want %+v", got, err, want)
	}
	for _, part := range []string{"1,234,567", "18446744073709551615", "| a | 1 |", "| b | 1,000 |"} {
		if !strings.Contains(want.Markdown(), part) {
			t.Errorf("markdown does not contain %q:\n%s", part, want.Markdown())
		}
	}
}
