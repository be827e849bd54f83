// Package result holds the raw results of the suites: what was measured, on what, and nothing that
// is derived from it. A suite is one JSON file, and the report is made from these files alone.
package result

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Meta says what a file was measured on.
type Meta struct {
	Suite     string
	Date      time.Time
	Seconds   float64 // that the suite took
	Quick     bool    // few and short measurements
	Command   string
	Load      string // LoadAverage before the suite
	Commit    string // "+changes" when the working tree differed
	GoVersion string
	Platform  string // GOOS/GOARCH
	Processor string
	CPUs      int               // that Go uses: GOMAXPROCS at the start
	Modules   map[string]string // version by module path
}

// NewMeta describes this machine and this program.
func NewMeta(ctx context.Context, suite string, quick bool) Meta {
	m := Meta{Suite: suite, Date: time.Now().UTC().Truncate(time.Second), Quick: quick,
		Command: strings.Join(append([]string{"go run ./bench/cmd/bench"}, os.Args[1:]...), " "),
		Load:    LoadAverage(), Commit: commit(ctx), GoVersion: runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH, Processor: processor(ctx),
		CPUs: runtime.GOMAXPROCS(0), Modules: map[string]string{}}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			m.Modules[d.Path] = d.Version
		}
	}
	return m
}

// commit returns the abbreviated commit, or "unknown". What the bench itself writes does not count
// as a change.
func commit(ctx context.Context) string {
	out, _ := exec.CommandContext(ctx, "git", "--no-optional-locks", "status", "--porcelain=v2",
		"--branch", "--", ":/", ":(top,exclude)bench/results", ":(top,exclude)docs/charts",
		":(top,exclude)bench/README.md").Output()
	var hash, changes string
	for line := range strings.Lines(string(out)) {
		if text, ok := strings.CutPrefix(line, "# branch.oid "); ok {
			hash = text[:min(12, len(text))]
		} else if !strings.HasPrefix(line, "#") {
			changes = "+changes"
		}
	}
	return cmp.Or(hash, "unknown") + changes
}

// processor returns the processor's name as Linux or macOS gives it.
func processor(ctx context.Context) string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, ok := strings.Cut(string(text), "model name\t: ")
	if !ok {
		out, err := exec.CommandContext(ctx, "sysctl", "-n", "machdep.cpu.brand_string").Output()
		if rest = string(out); err != nil {
			rest = runtime.GOARCH + " processor"
		}
	}
	name, _, _ := strings.Cut(rest, "\n")
	return name
}

// Conditions says in a line when and on what is measured, and how busy it is.
func Conditions(ctx context.Context) string {
	m := NewMeta(ctx, "", false)
	return fmt.Sprintf("%d processors, %s, %s, %s, commit %s; load before: %s", m.CPUs, m.Processor,
		m.Date.Format("2006-01-02T15:04Z"), m.GoVersion, m.Commit, m.Load)
}

// LoadAverage returns the machine's load averages, where the system has them.
func LoadAverage() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return cmp.Or(strings.TrimSpace(string(text)), "not known")
}
