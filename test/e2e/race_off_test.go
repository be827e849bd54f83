//go:build !race

package e2e

import "testing"

// This test is left out under the race detector. Its pipes and its counting would be slow there, and
// the race detector would find nothing in them.

// TestEightProcesses: eight processes at once on one MariaDB make 10 million ids each, and no id
// is repeated.
func TestEightProcesses(t *testing.T) {
	const processes = 8
	j := job{DSN: dialects[0].migrated(t), Count: 10_000_000}
	if testing.Short() {
		j.Count = 500_000
	}
	l := newLedger(t, j)
	var running []*process
	for range processes {
		running = append(running, j.start(t, l))
	}
	for _, p := range running {
		if err := p.wait(); err != nil {
			t.Error(err)
		}
	}
	total, workers := l.check(t)
	if total != processes*j.Count || workers != processes {
		t.Errorf("%d ids of %d worker ids, want %d of %d", total, workers, processes*j.Count, processes)
	}
}
