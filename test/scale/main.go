package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The kinds of assigners.
const (
	leased      = "Leased"
	namespace   = "Leased, own namespace"
	disposable  = "Disposable"
	overHTTP    = "Leased, over HTTP"
	static      = "Static"
	host        = "Host"
	env         = "Env"
	statefulSet = "StatefulSet"
	zooKeeper   = "ZooKeeper"
	etcdKind    = "etcd"
	cluster     = "Kubernetes"
	postgreSQL  = "Leased, PostgreSQL"
)

// alone are the kinds that have no authority. Nothing keeps windows for them, so that there is one
// power cut and not two.
var alone = []string{static, host, env, statefulSet}

// groups are all kinds. Those of a group share one server.
var groups = [][]string{
	{leased, namespace, disposable}, {postgreSQL}, {overHTTP}, alone, {zooKeeper}, {etcdKind},
	{cluster},
}

// The scenarios in which a fleet starts.
const (
	reads   = "one read each"                  // all at once, and none asks for a worker id
	cold    = "cold"                           // all at once, on empty tables
	rolling = "rolling"                        // each replaces another one, one after the other
	held    = "power cut, windows held"        // all are killed, and started at once
	passed  = "power cut, windows have passed" // the same, after the windows have passed
)

// run is one measurement.
type run struct {
	Kind      string
	Scenario  string
	Processes int
	Took      []time.Duration    // how long each start took, in ascending order
	All       time.Duration      // from the beginning of the first start to the end of the last one
	PerStart  map[string]float64 // how far each of the server's counters moved, per start
	Workers   int                // different worker ids so far, in this scenario and those before
	Highest   int64              // the highest worker id

	// Of a run that was added to a file later than the others.
	Begun  time.Time `json:",omitzero"`
	Commit string    `json:",omitempty"`
}

// result is what a file holds.
type result struct {
	Begun       time.Time
	Machine     string
	Commit      string
	Connections int // the server's limit of connections
	Runs        []run
}

func main() {
	if text := os.Getenv(jobEnv); text != "" {
		var j job
		err := json.Unmarshal([]byte(text), &j)
		if err == nil {
			err = j.work()
		}
		exit(err)
	}
	processes := flag.String("processes", "50,200", "sizes of the fleet, separated by commas")
	var only []string
	flag.Func("only", "measure only this `kind` of assigner; may be given several times",
		func(kind string) error {
			if !slices.Contains(slices.Concat(groups...), kind) {
				return fmt.Errorf("no such kind; there are %q", slices.Concat(groups...))
			}
			only = append(only, kind)
			return nil
		})
	repeat := flag.Int("repeat", 5, "number of measurements of each scenario")
	connections := flag.Int("connections", 1000, "the server's limit of connections")
	out := flag.String("out", "", "write the result to this file")
	add := flag.Bool("add", false, "keep the file's runs of other kinds")
	show := flag.String("show", "", "print the tables of this file and measure nothing")
	flag.Parse()
	if *show != "" {
		exit(showFile(*show))
	}
	r, err := measure(*processes, only, *repeat, *connections)
	if err == nil && *add {
		err = r.addTo(*out)
	}
	if err != nil {
		exit(err)
	}
	text, err := json.Marshal(r)
	if err == nil && *out != "" {
		const next = `{"Kind":` // begins a run, which gets a line of its own
		text = bytes.ReplaceAll(text, []byte(next), []byte("\n"+next))
		err = os.WriteFile(*out, append(text, '\n'), 0o644)
	}
	r.print(os.Stdout)
	exit(err)
}

// exit ends the program, with status 1 if there is an error.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// measure runs every scenario of every kind.
func measure(sizes string, only []string, repeat, connections int) (*result, error) {
	r := &result{Begun: time.Now().UTC(), Connections: connections, Commit: commit(),
		Machine: fmt.Sprintf("%d processors, %s/%s, %s",
			runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())}
	var counts []int
	for size := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, err
		}
		counts = append(counts, n)
	}
	for _, kinds := range groups {
		if only != nil {
			kinds = slices.DeleteFunc(slices.Clone(kinds), func(k string) bool {
				return !slices.Contains(only, k)
			})
		}
		if err := r.kinds(kinds, counts, repeat, connections); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// kinds runs every scenario of kinds that share one server.
func (r *result) kinds(kinds []string, counts []int, repeat, connections int) error {
	if len(kinds) == 0 {
		return nil
	}
	srv, err := newSource(kinds[0], connections)
	if err != nil {
		return err
	}
	defer srv.Close()
	for _, n := range counts {
		for _, kind := range kinds {
			for range repeat {
				if err := r.scenarios(srv, kind, n); err != nil {
					return fmt.Errorf("%s, %d processes: %w", kind, n, err)
				}
			}
		}
	}
	return nil
}

// scenarios runs every scenario of a kind once, from an empty server on.
func (r *result) scenarios(srv source, kind string, n int) error {
	if err := srv.reset(); err != nil {
		return err
	}
	j := srv.job(kind)
	workers := map[int64]bool{}
	if slices.Contains([]string{leased, postgreSQL, zooKeeper, etcdKind, cluster}, kind) {
		j.Read = true
		f, err := newFleet(j, n)
		if err == nil {
			err = r.watch(srv, kind, reads, map[int64]bool{}, f.ask)
		}
		f.kill()
		if err != nil {
			return err
		}
		j.Read = false
	}
	together := func(scenario string) (fleet, error) {
		f, err := newFleet(j, n)
		if err != nil {
			return nil, err
		}
		return f, r.watch(srv, kind, scenario, workers, f.ask)
	}
	f, err := together(cold)
	if err != nil {
		f.kill()
		return err
	}
	successors, err := newFleet(j, n)
	if err != nil {
		f.kill()
		return err
	}
	err = r.watch(srv, kind, rolling, workers, func() ([]answer, error) {
		var all []answer
		for i, p := range successors {
			if err := f[i].stop(); err != nil {
				return nil, err
			}
			a, err := p.ask()
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
		return all, nil
	})
	successors.kill()
	cuts := []string{held, passed}
	if kind == disposable || slices.Contains(alone, kind) {
		cuts = cuts[:1] // no window passes
	}
	for _, scenario := range cuts {
		if err != nil {
			return err
		}
		if scenario == passed {
			if err := srv.pass(); err != nil {
				return err
			}
		}
		f, err = together(scenario)
		f.kill()
	}
	return err
}

// watch measures one scenario, which do carries out, and adds its worker ids to workers.
func (r *result) watch(
	srv source, kind, scenario string, workers map[int64]bool, do func() ([]answer, error),
) error {
	before, err := srv.counters()
	if err != nil {
		return err
	}
	begin := time.Now()
	answers, err := do()
	if err != nil {
		return err
	}
	m := run{Kind: kind, Scenario: scenario, Processes: len(answers), All: time.Since(begin),
		PerStart: map[string]float64{}}
	after, err := srv.counters()
	if err != nil {
		return err
	}
	for name := range after {
		m.PerStart[name] = float64(after[name]-before[name]) / float64(len(answers))
	}
	for _, a := range answers {
		m.Took = append(m.Took, a.Took)
		m.Highest = max(m.Highest, a.Worker)
		workers[a.Worker] = true
	}
	slices.Sort(m.Took)
	m.Workers = len(workers)
	r.Runs = append(r.Runs, m)
	return nil
}

// commit returns the commit of the checkout that the program runs in, or "unknown".
func commit() string {
	out, err := exec.CommandContext(context.Background(), "git", "rev-parse", "--short=12",
		"HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
