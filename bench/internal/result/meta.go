// Package result holds the raw results of the suites: what was measured, on what, and nothing that
// is derived from it. A suite is one JSON file, and the report is made from these files alone.
package result

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Meta says what a file was measured on.
type Meta struct {
	Suite      string
	Date       time.Time
	Seconds    float64 // that the suite took
	Quick      bool    // few and short measurements
	Command    string
	Commit     string // "+changes" when the working tree differed
	GoVersion  string
	Platform   string // GOOS/GOARCH
	Processor  string
	CPUs       int
	GOMAXPROCS int
	Modules    map[string]string // version by module path
}

// NewMeta describes this machine and this program.
func NewMeta(ctx context.Context, suite, command string, quick bool) Meta {
	return Meta{
		Suite:      suite,
		Date:       time.Now().UTC().Truncate(time.Second),
		Quick:      quick,
		Command:    command,
		Commit:     commit(ctx),
		GoVersion:  runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
		Processor:  processor(ctx),
		CPUs:       runtime.NumCPU(),
		GOMAXPROCS: runtime.GOMAXPROCS(0),
		Modules:    modules(),
	}
}

// modules returns the versions that were linked in.
func modules() map[string]string {
	out := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			out[d.Path] = d.Version
		}
	}
	return out
}

// commit returns the abbreviated commit, or "unknown". What the bench itself writes does not count
// as a change.
func commit(ctx context.Context) string {
	hash, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	out := strings.TrimSpace(string(hash))
	status, err := exec.CommandContext(ctx, "git", "--no-optional-locks", "status", "--porcelain",
		"--",
		":/", ":(top,exclude)bench/results", ":(top,exclude)docs/charts",
		":(top,exclude)bench/README.md").Output()
	if err != nil || len(status) > 0 {
		out += "+changes"
	}
	return out
}

// processor returns the processor's name as the system gives it.
func processor(ctx context.Context) string {
	switch runtime.GOOS {
	case "linux":
		f, err := os.Open("/proc/cpuinfo")
		if err != nil {
			break
		}
		defer func() { _ = f.Close() }()
		for s := bufio.NewScanner(f); s.Scan(); {
			if key, value, ok := strings.Cut(s.Text(), ":"); ok &&
				strings.TrimSpace(key) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	case "darwin":
		out, err := exec.CommandContext(ctx, "sysctl", "-n", "machdep.cpu.brand_string").Output()
		if err == nil {
			return strings.TrimSpace(string(out))
		}
	}
	return runtime.GOARCH + " processor"
}
