package main

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestMain runs the tests, or in a process of a fleet that a test has started the process's job.
func TestMain(m *testing.M) {
	if text := os.Getenv(jobEnv); text != "" {
		var j job
		err := json.Unmarshal([]byte(text), &j)
		if err == nil {
			err = j.work()
		}
		exit(err)
	}
	os.Exit(m.Run())
}

// TestScenarios: a small fleet goes through every scenario, and each process has a worker id of its
// own.
func TestScenarios(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t)
	const n = 3
	for _, kind := range []string{leased, namespace, disposable, zooKeeper} {
		var from source = mariaDB{srv}
		if kind == zooKeeper {
			from = &ensemble{Server: dbtest.ZooKeeper(t)}
		}
		var r result
		if err := r.scenarios(from, kind, n); err != nil {
			t.Fatal(err)
		}
		want := map[string]int{cold: n, rolling: n, held: 2 * n, passed: 2 * n} // the least
		for _, m := range r.Runs {
			if len(m.Took) != n || m.Workers < want[m.Scenario] || m.asked() < 4 {
				t.Errorf("%s, %s: %d starts, %d worker ids, %v statements each, "+
					"want %d starts, %d or more worker ids, 4 or more statements",
					kind, m.Scenario, len(m.Took), m.Workers, m.asked(), n, want[m.Scenario])
			}
		}
		if len(r.Runs) < 3 {
			t.Errorf("%s: %d runs, want 3 or 4", kind, len(r.Runs))
		}
	}
}

// TestSimulation: every process gets a row, and none gets it before its statements can have run.
func TestSimulation(t *testing.T) {
	t.Parallel()
	const n, cost = 500, 100 * time.Microsecond
	for _, connections := range []int{n, 20} {
		s := simulate(n, 2, connections, cost)
		if len(s.took) != n || s.statements < n*(before+1+after) || (s.refused > 0) != (connections < n) {
			t.Errorf("%d connections: %d starts, %d statements, %d refused, want %d starts, %d or more "+
				"statements, and refusals if there are fewer connections than processes",
				connections, len(s.took), s.statements, s.refused, n, n*(before+1+after))
		}
		const least = (before + 1 + after) * cost // of one start
		if first, last := s.took[0], s.took[n-1]; first < least || last < n*least/2 {
			t.Errorf("%d connections: starts took %v to %v, want %v or more, and the last %v or more",
				connections, first, last, least, n*least/2)
		}
	}
}
