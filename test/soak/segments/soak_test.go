package segments

import (
	"os"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
)

// TestMain runs the tests, or in a process that a run has started the job of that process.
func TestMain(m *testing.M) {
	Worker()
	os.Exit(m.Run())
}

// try runs the program and returns its exit status, its output and its result.
func try(t *testing.T, args ...string) (status int, said string, r *result) {
	t.Helper()
	return soak.Try[result](t, dbtest.NewPostgres, Command, args...)
}

// TestSoak is a short run: no id is repeated, there are faults of both sorts, and a third ticket
// server joins.
func TestSoak(t *testing.T) {
	t.Parallel()
	status, said, r := try(t, "-duration", "5s", "-most", "500ms", "-processes", "3", "-seed", "1")
	if status != 0 || r.Twice != 0 || r.Falls != 0 || len(r.Failures) != 0 {
		t.Errorf("status %d, %+v, want 0 and no id twice\n%s", status, r, said)
	}
	process, server := soak.Split(r.Faults)
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
	status, said, r := try(t, "-duration", "4s", "-most", "100ms", "-processes", "2", "-broken", "-seed", "2")
	if status != 1 || r.Twice == 0 && len(r.Failures) == 0 {
		t.Errorf("status %d, %+v, want 1 and the ids that were repeated\n%s", status, r, said)
	}
}

// TestFlags: flags out of range are refused before anything is started.
func TestFlags(t *testing.T) {
	t.Parallel()
	soak.Refused(t, Command, "-broken=x")
}
