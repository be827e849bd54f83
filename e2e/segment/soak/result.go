package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/human"
)

// result is what a run found, as it is written to a file.
type result struct {
	Started    time.Time        `json:"started"`
	Duration   string           `json:"duration"`
	Seed       uint64           `json:"seed"`
	CPUs       int              `json:"cpus"`
	Go         string           `json:"go"`
	Processes  int              `json:"processes"`
	Starts     int              `json:"starts"`
	IDs        map[string]int64 `json:"ids"` // of each source
	Twice      int64            `json:"twice"`
	First      string           `json:"first,omitempty"` // the first id that came twice
	Falls      int64            `json:"falls"`           // ids that were not above the one before
	Fall       string           `json:"fall,omitempty"`  // the first of them
	Recovery   float64          `json:"recovery_seconds"`
	RecoveryOf string           `json:"recovery_of"`
	Faults     map[string]int64 `json:"faults"`
	Errors     map[string]int64 `json:"errors"`
	Failures   []string         `json:"failures"`
}

// newResult collects what a run found.
func newResult(c config, begin time.Time, in *injector) *result {
	f := in.fleet
	r := &result{Started: begin.UTC().Truncate(time.Second), Duration: c.duration.String(),
		Seed: c.seed, CPUs: runtime.NumCPU(), Go: runtime.Version(), Processes: c.processes,
		IDs: map[string]int64{}, Failures: []string{}}
	for i, l := range f.ledgers {
		ids, twice, first, _ := l.sum()
		r.IDs[kinds[i].name] = ids
		if r.Twice += twice; twice > 0 && r.First == "" {
			r.First = fmt.Sprintf("%d of %s", first, kinds[i].name)
		}
	}
	in.mu.Lock()
	r.Faults = maps.Clone(in.counts)
	in.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Starts, r.Falls, r.Fall, r.Errors = f.started, f.falls, f.fall, maps.Clone(f.errs)
	r.Recovery, r.RecoveryOf = f.recovery.Round(10*time.Millisecond).Seconds(), f.after
	for _, err := range f.bad {
		r.Failures = append(r.Failures, err.Error())
	}
	return r
}

// markdown returns the result as the report shows it.
func (r *result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | |\n| --- | ---: |\n")
	line := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	var ids int64
	for _, n := range r.IDs {
		ids += n
	}
	line("duration", r.Duration)
	line("ids issued", human.Count(ids))
	line("**ids that came twice**", fmt.Sprintf("**%d**", r.Twice))
	line("**ids that were not above the one before, of one process and server**",
		fmt.Sprintf("**%d**", r.Falls))
	line("processes at one time", r.Processes)
	line("processes started", r.Starts)
	line("longest time after a fault until every process had new ids of every source",
		fmt.Sprintf("%.2f s (%s)", r.Recovery, r.RecoveryOf))
	line("sources that did not come back, and processes that ended by themselves", len(r.Failures))
	table := func(head string, of map[string]int64) {
		fmt.Fprintf(&b, "\n| %s | |\n| --- | ---: |\n", head)
		for _, name := range slices.Sorted(maps.Keys(of)) {
			line(name, human.Count(of[name]))
		}
	}
	table("ids of", r.IDs)
	table("fault", r.Faults)
	table("calls that failed", r.Errors)
	fmt.Fprintf(&b, "\n%d processors, %s, seed %d, begun %s.\n", r.CPUs, r.Go, r.Seed,
		r.Started.Format("2006-01-02 15:04 MST"))
	return b.String()
}

// readResult reads a result from a file.
func readResult(path string) (*result, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r result
	return &r, json.Unmarshal(text, &r)
}
