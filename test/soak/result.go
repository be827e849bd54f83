package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/test/internal/soak"
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
	Broken    string    `json:"broken,omitempty"`
	Authority string    `json:"authority,omitempty"` // empty: mariadb

	IDs        int64            `json:"ids"`
	Duplicates int64            `json:"duplicates"`
	Foreign    int64            `json:"foreign"`
	Counted    int64            `json:"segment_ids_and_numbers,omitempty"`
	Again      int64            `json:"segment_ids_and_numbers_twice,omitempty"`
	Outside    int64            `json:"ids_outside_their_window"`
	Windows    int              `json:"windows"`
	Reused     int              `json:"windows_on_a_used_worker_id"`
	Overlap    string           `json:"overlapping_windows,omitempty"`
	FoundAfter float64          `json:"found_after_seconds,omitempty"`
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
	Followed   float64          `json:"longest_after_a_new_primary_seconds,omitempty"`
	Failures   []string         `json:"failures"`
}

// newResult collects what a run found.
func newResult(c config, begin time.Time, in *injector) *result {
	f, s, sum := in.fleet, in.fleet.ledger.Sum(), in.fleet.Summary()
	r := &result{
		Started: begin.UTC().Truncate(time.Second), Processor: processor(), CPUs: runtime.NumCPU(),
		OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Commit: c.commit,
		Seed: c.Seed, Duration: c.Duration.String(), Window: c.window.String(),
		Most: c.Most.String(), Processes: c.Processes, Broken: c.broken, Authority: c.authority,
		IDs: s.IDs, Duplicates: s.Duplicates, Foreign: s.Foreign, Examples: s.First,
		Workers: s.Workers, Shared: s.Shared, Starts: sum.Starts, Faults: in.counts.All(),
		Errors: sum.Errors, Recovery: soak.Seconds(sum.Recovery), RecoveryOf: sum.RecoveryOf,
		Followed: soak.Seconds(sum.Longest[promoted]), Failures: sum.Failures,
	}
	r.Counted, r.Again = f.counted()
	f.mu.Lock()
	defer f.mu.Unlock()
	all := f.windows.All()
	r.Windows = len(all)
	for i := 1; i < len(all); i++ {
		if all[i].Worker == all[i-1].Worker {
			r.Reused++
		}
	}
	if r.Outside = f.outside; r.Outside > 0 {
		r.Examples = append(r.Examples, f.example)
	}
	if f.overlap != nil {
		r.Overlap = f.overlap.Error()
	}
	r.FoundAfter = soak.Seconds(f.found)
	r.Stall, r.StallOf = soak.Seconds(f.stall), f.stallOf
	return r
}

// Found returns what must not have been found, apart from failures of processes.
func (r result) Found() error {
	if r.Duplicates == 0 && r.Again == 0 && r.Foreign == 0 && r.Outside == 0 && r.Overlap == "" {
		return nil
	}
	return fmt.Errorf("found after %.1f s: %d ids, and %d of segments and numbers, were repeated "+
		"and %d lie outside of their windows, such as %v; %d are below 0; windows overlap: %q",
		r.FoundAfter, r.Duplicates, r.Again, r.Outside, r.Examples, r.Foreign, r.Overlap)
}

// Markdown returns the result as the report shows it.
func (r result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | |\n| --- | ---: |\n")
	line := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	if r.Authority != "" {
		line("worker ids from", r.Authority)
	}
	line("duration", r.Duration)
	line("ids issued", human.Count(r.IDs))
	line("**ids that were repeated**", fmt.Sprintf("**%d**", r.Duplicates))
	if r.Counted > 0 {
		line("ids of segments and numbers", human.Count(r.Counted))
		line("**of these were repeated**", fmt.Sprintf("**%d**", r.Again))
	}
	line("**ids outside of the window that was granted**", fmt.Sprintf("**%d**", r.Outside))
	overlaps := 0
	if r.Overlap != "" {
		overlaps = 1
	}
	line("**windows of a worker id that overlap**",
		fmt.Sprintf("**%d** of %s", overlaps, human.Count(int64(r.Windows))))
	line("processes at one time", r.Processes)
	line("processes started", r.Starts)
	line("worker ids used", r.Workers)
	line("worker ids used by more than one process", r.Shared)
	line("windows that began where another process's window had ended", r.Reused)
	line("longest stall of a process that was not paused", fmt.Sprintf("%.2f s (%s)",
		r.Stall, r.StallOf))
	line("longest time after a fault until every process had ids again", fmt.Sprintf("%.2f s (%s)",
		r.Recovery, r.RecoveryOf))
	line("generators that did not come back, and processes that ended by themselves",
		len(r.Failures))
	b.WriteString(soak.Table("fault | times", r.Faults))
	b.WriteString(soak.Table("error that a caller got | times", r.Errors))
	fmt.Fprintf(&b,
		"\n%s, %d processors, %s, %s, commit %s, seed %d, leases of %s, faults of at most %s, "+
			"begun %s.\n", r.Processor, r.CPUs,
		r.OS, r.Go, r.Commit, r.Seed, r.Window, r.Most, r.Started.Format("2006-01-02 15:04 MST"))
	return b.String()
}

// row returns the result as one line of the report's table of authorities, or of that of groups.
func (r result) row() string {
	if r.Counted > 0 {
		return r.groupRow()
	}
	process, outer := soak.Split(r.Faults)
	outer -= r.Faults[taken]
	return fmt.Sprintf("| %s | %s | %s | %d | %d | %s | %d | %d | %.2f s |",
		r.Authority, r.Duration, human.Count(r.IDs), r.Duplicates, r.Outside,
		human.Count(int64(r.Windows)), outer, process, r.Recovery)
}

// groupRow is row for a group.
func (r result) groupRow() string {
	var next, failed int64
	for name, n := range r.Faults {
		if strings.Contains(name, "take") || strings.Contains(name, "switch") {
			next += n
		}
	}
	for _, n := range r.Errors {
		failed += n
	}
	followed := "-"
	if r.Followed > 0 {
		followed = fmt.Sprintf("%.2f s", r.Followed)
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %d | %s | %d | %s | %.2f s | %s |",
		r.Authority, r.Duration, human.Count(r.IDs), human.Count(r.Counted),
		r.Duplicates+r.Again+r.Outside, human.Count(int64(r.Windows)), next, human.Count(failed),
		r.Stall, followed)
}

// processor returns the name of the machine's processor, or the architecture where the system does
// not tell the name.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(line, ":")
		if ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// commit returns the commit of the checkout that the program runs in, with a plus if there are
// uncommitted changes. It is "unknown" outside of a checkout.
func commit() string {
	out, err := exec.CommandContext(context.Background(), "git", "describe", "--always",
		"--exclude=*", "--abbrev=12", "--dirty=+").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
