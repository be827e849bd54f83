package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/uidring/uidring/uid"
)

// result is what a run found, as it is written to a file.
type result struct {
	Started   time.Time `json:"started"`
	Processor string    `json:"processor"`
	CPUs      int       `json:"cpus"`
	OS        string    `json:"os"`
	Go        string    `json:"go"`
	Commit    string    `json:"commit"`
	Seed      uint64    `json:"seed,string"`
	Duration  string    `json:"duration"`
	Window    string    `json:"window"`
	Most      string    `json:"longest_fault"`
	Processes int       `json:"processes"`
	Broken    bool      `json:"broken"`

	IDs        int64            `json:"ids"`
	Duplicates int64            `json:"duplicates"`
	Foreign    int64            `json:"foreign"`
	Examples   []uid.ID         `json:"examples,omitempty"`
	Starts     int              `json:"processes_started"`
	Workers    int              `json:"worker_ids"`
	Shared     int              `json:"worker_ids_used_again"`
	Faults     map[string]int64 `json:"faults"`
	Errors     map[string]int64 `json:"errors"`
	Stall      float64          `json:"longest_stall_seconds"`
	StallOf    string           `json:"longest_stall_of"`
	Recovery   float64          `json:"longest_recovery_seconds"`
	RecoveryOf string           `json:"longest_recovery_after"`
	Failures   []string         `json:"failures"`
}

// newResult collects what a run found.
func newResult(c config, begin time.Time, in *injector) *result {
	f, s := in.fleet, in.fleet.ledger.Sum()
	r := &result{
		Started: begin.UTC().Truncate(time.Second), Processor: processor(), CPUs: runtime.NumCPU(),
		OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Commit: c.commit, Seed: c.seed, Duration: c.duration.String(),
		Window: c.window.String(), Most: c.most.String(), Processes: c.processes, Broken: c.broken,
		IDs: s.IDs, Duplicates: s.Duplicates, Foreign: s.Foreign, Examples: s.First, Workers: s.Workers, Shared: s.Shared,
		Errors: f.tally(), Failures: []string{},
	}
	in.mu.Lock()
	r.Faults = maps.Clone(in.counts)
	in.mu.Unlock()
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Starts = f.started
	r.Stall, r.StallOf = round(f.stall), f.stallOf
	r.Recovery, r.RecoveryOf = round(f.recovery), f.recFault
	for _, err := range f.bad {
		r.Failures = append(r.Failures, err.Error())
	}
	return r
}

// round returns a duration in seconds, to the hundredth.
func round(d time.Duration) float64 {
	return float64(d.Round(10*time.Millisecond)) / float64(time.Second)
}

// markdown returns the result as the report shows it.
func (r *result) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | |\n| --- | ---: |\n")
	line := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	line("duration", r.Duration)
	line("ids issued", thousands(r.IDs))
	line("**ids that came twice**", fmt.Sprintf("**%d**", r.Duplicates))
	line("processes at one time", r.Processes)
	line("processes started", r.Starts)
	line("worker ids used", r.Workers)
	line("worker ids used by more than one process", r.Shared)
	line("longest stall of a process that was not paused", fmt.Sprintf("%.2f s (%s)", r.Stall, r.StallOf))
	line("longest time after a fault until every process had ids again", fmt.Sprintf("%.2f s (%s)", r.Recovery, r.RecoveryOf))
	line("generators that did not come back, and processes that ended by themselves", len(r.Failures))
	fmt.Fprintf(&b, "\n| fault | times |\n| --- | ---: |\n")
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		line(name, r.Faults[name])
	}
	fmt.Fprintf(&b, "\n| error that a caller got | times |\n| --- | ---: |\n")
	for _, name := range slices.Sorted(maps.Keys(r.Errors)) {
		line(name, thousands(r.Errors[name]))
	}
	fmt.Fprintf(&b, "\n%s, %d processors, %s, %s, commit %s, seed %d, leases of %s, faults of at most %s, begun %s.\n", r.Processor, r.CPUs,
		r.OS, r.Go, r.Commit, r.Seed, r.Window, r.Most, r.Started.Format("2006-01-02 15:04 MST"))
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

// thousands returns n with commas.
func thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// processor returns the name of the machine's processor, or the architecture's where the system does not say.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// commit returns the commit that the program was built from, else that of the checkout that it is started in, "unknown" outside of one.
// Files that were changed since are marked with a plus.
func commit() string {
	var revision, changed string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				changed = "+"
			}
		}
	}
	if revision != "" {
		return revision + changed
	}
	out, err := exec.CommandContext(context.Background(), "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
