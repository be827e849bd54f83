package segments

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/uidring/uidring/internal/human"
	"github.com/uidring/uidring/test/internal/soak"
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
	First      string           `json:"first,omitempty"` // the first id that was repeated
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
	f, sum := in.fleet, in.fleet.Summary()
	r := &result{Started: begin.UTC().Truncate(time.Second), Duration: c.Duration.String(),
		Seed: c.Seed, CPUs: runtime.NumCPU(), Go: runtime.Version(), Processes: c.Processes,
		Starts: sum.Starts, IDs: map[string]int64{}, Faults: in.counts.All(), Errors: sum.Errors,
		Recovery: soak.Seconds(sum.Recovery), RecoveryOf: sum.RecoveryOf, Failures: sum.Failures}
	for i, l := range f.ledgers {
		ids, twice, first, _ := l.Sum()
		r.IDs[kinds[i].name] = ids
		if r.Twice += twice; twice > 0 && r.First == "" {
			r.First = fmt.Sprintf("%d of %s", first, kinds[i].name)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r.Falls, r.Fall = f.falls, f.fall
	return r
}

// Found returns what must not have been found, apart from failures of processes.
func (r result) Found() error {
	if r.Twice == 0 && r.Falls == 0 {
		return nil
	}
	return fmt.Errorf("%d ids were repeated, such as %s; %d did not rise, such as %s",
		r.Twice, r.First, r.Falls, r.Fall)
}

// Markdown returns the result as the report shows it.
func (r result) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| | |\n| --- | ---: |\n")
	line := func(name string, value any) { fmt.Fprintf(&b, "| %s | %v |\n", name, value) }
	var ids int64
	for _, n := range r.IDs {
		ids += n
	}
	line("duration", r.Duration)
	line("ids issued", human.Count(ids))
	line("**ids that were repeated**", fmt.Sprintf("**%d**", r.Twice))
	line("**ids that were not above the one before, of one process and server**",
		fmt.Sprintf("**%d**", r.Falls))
	line("processes at one time", r.Processes)
	line("processes started", r.Starts)
	line("longest time after a fault until every process had new ids of every source",
		fmt.Sprintf("%.2f s (%s)", r.Recovery, r.RecoveryOf))
	line("sources that did not come back, and processes that ended by themselves", len(r.Failures))
	b.WriteString(soak.Table("ids of |", r.IDs))
	b.WriteString(soak.Table("fault |", r.Faults))
	b.WriteString(soak.Table("calls that failed |", r.Errors))
	fmt.Fprintf(&b, "\n%d processors, %s, seed %d, begun %s.\n", r.CPUs, r.Go, r.Seed,
		r.Started.Format("2006-01-02 15:04 MST"))
	return b.String()
}
