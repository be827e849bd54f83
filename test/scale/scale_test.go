package main

import (
	"container/heap"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
	dbtest.Long(t, "scale")
	const n = 3
	srv := mariaDB{dbtest.MariaDB(t)}
	for _, kind := range []string{
		leased, namespace, disposable, postgreSQL, overHTTP, host, statefulSet, zooKeeper,
	} {
		t.Run(kind, func(t *testing.T) {
			var from source = srv
			switch kind {
			case overHTTP:
				s, err := newService(srv)
				if err != nil {
					t.Fatal(err)
				}
				defer s.stop()
				from = s
			case host:
				from = nothing{}
			case statefulSet:
				if os.Geteuid() != 0 {
					t.Skip("a host name of its own needs root")
				}
				from = nothing{}
			case zooKeeper:
				from = &ensemble{Server: dbtest.ZooKeeper(t)}
			case postgreSQL:
				from = postgresServer{dbtest.Postgres(t)}
			}
			var r result
			if err := r.scenarios(from, kind, n); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{cold: n, rolling: n, held: 2 * n, passed: 2 * n} // the least
			asked, runs := 4.0, 5
			switch kind {
			case namespace, overHTTP:
				runs = 4 // none of reads
			case statefulSet:
				want[held] = n
				fallthrough
			case host:
				asked = 0
				fallthrough
			case disposable:
				runs = 3
			case postgreSQL:
				asked = 0 // it is not counted
			}
			for _, m := range r.Runs {
				asked := asked
				if m.Scenario == reads {
					asked = min(asked, 1)
				}
				if len(m.Took) != n || m.Workers < want[m.Scenario] || m.asked() < asked {
					t.Errorf("%s: %d starts, %d worker ids, %v statements each, "+
						"want %d starts, %d or more worker ids, %v or more statements",
						m.Scenario, len(m.Took), m.Workers, m.asked(), n, want[m.Scenario], asked)
				}
			}
			if len(r.Runs) != runs {
				t.Errorf("%d runs, want %d", len(r.Runs), runs)
			}
		})
	}
}

// TestAdd: runs that are added to a file replace those of the same kind, and keep what the table
// says of them.
func TestAdd(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "result.json")
	of := func(commit, kind string) *result {
		return &result{Machine: "m", Commit: commit, Runs: []run{
			{Kind: kind, Scenario: cold, Took: []time.Duration{1}},
		}}
	}
	write := func(r *result) {
		t.Helper()
		text, err := json.Marshal(r)
		if err == nil {
			err = os.WriteFile(name, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	write(of("one", leased))
	for _, r := range []*result{of("two", host), of("three", host)} {
		if err := r.addTo(name); err != nil {
			t.Fatal(err)
		}
		write(r)
	}
	r, err := readFile(name)
	if err != nil || r.Commit != "one" || len(r.Runs) != 2 || r.Runs[0].Commit != "" ||
		r.Runs[1].Kind != host || r.Runs[1].Commit != "three" {
		t.Errorf("result = %+v, %v, want one run of commit one and one of commit three", r, err)
	}
	var b strings.Builder
	if r.print(&b); !strings.Contains(b.String(), "\nHost: commit three,") {
		t.Errorf("the table does not say where Host's run is from:\n%s", b.String())
	}
	if err := (&result{Machine: "another"}).addTo(name); err == nil {
		t.Error("a result of another machine was added")
	}
}

// TestSimulationPause: a process that has lost keeps its connection while it pauses, and closes it
// in a longer pause when it has been idle.
func TestSimulationPause(t *testing.T) {
	t.Parallel()
	for pause, want := range map[time.Duration]int{firstPause: 0, idle: 0, 4 * idle: 1} {
		s := &simulation{cost: time.Millisecond, processors: make([]time.Duration, 1), connections: 1,
			r: rand.New(rand.NewPCG(1, 1))}
		s.attempt(0, pause, 0, false) // there are no rows
		for range 2 {                 // the end of the statements, and the next event
			if s.connections != 0 {
				t.Errorf("pause of %v: %d connections are free, want 0", pause, s.connections)
			}
			e, _ := heap.Pop(&s.queue).(event)
			e.step(e.at)
		}
		if s.connections != want {
			t.Errorf("in a pause of %v: %d connections are free, want %d", pause, s.connections, want)
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
