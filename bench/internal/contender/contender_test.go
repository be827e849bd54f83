package contender_test

import (
	"bufio"
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
)

// Every contender starts, runs and stops, under a name of its own, and keeps to its rate if it waits.
func TestContenders(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range contender.All() {
		if seen[c.Name] || len(contender.Pick(c.Name)) != 1 {
			t.Errorf("two contenders are called %q", c.Name)
		}
		seen[c.Name] = true
		if c.New == nil { // not on this Go
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			run, stop, err := c.New()
			if err != nil {
				t.Fatal(err)
			}
			if stop != nil {
				defer func() { _ = stop() }()
			}
			start := time.Now()
			const n = 4096
			if err := run(n); err != nil {
				t.Fatal(err)
			}
			if c.Name == "sony/sonyflake" { // the first tick's 256 ids may come at once
				least := time.Duration((n - 2*256) / c.Rate.PerSecond * 1e9)
				if took := time.Since(start); took < least {
					t.Errorf("%d ids took %v, want at least %v", n, took, least)
				}
			}
		})
	}
	for _, name := range []string{"floor/add", contender.AddCalled, "floor/store and add",
		contender.AddOwn, "floor/store 256", "floor/store 1,024", "floor/time.Now",
		contender.OneLane, contender.ManyLanes, "uid.Cached 31-4-28", "uid.Cached 31-4-28, many lanes",
		contender.DefaultWide, contender.DefaultHash, contender.DefaultZero, contender.SegmentTag,
		"uid.Cached, Fill of 256", "uid.Cached, Fill of 1,024", contender.WUID, contender.Bwmarrin,
		contender.Sony, contender.UUID7, contender.Drifting} {
		if !seen[name] {
			t.Errorf("no contender is called %q", name)
		}
	}
}

// A measured loop calls its generator directly. A call through a function value or an interface
// costs as much as a fast generator; the machine code shows it as a call without a symbol. Only
// instructions of the loops' own lines are counted, not what the generators do.
func TestLoopsCallDirectly(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: contender suite: make test-all runs it")
	}
	program := filepath.Join(t.TempDir(), "bench")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../cmd/bench")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	dump, err := exec.CommandContext(t.Context(), "go", "tool", "objdump",
		"-s", `internal/contender\.`, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`^\s*(floors|own|peers|stduuid)\.go:\d+`)
	loop := regexp.MustCompile(`\.func`)
	loops, calls, name, files := 0, 0, "", map[string]int{}
	for s := bufio.NewScanner(bytes.NewReader(dump)); s.Scan(); {
		line := s.Text()
		if text, ok := strings.CutPrefix(line, "TEXT "); ok {
			name, _, _ = strings.Cut(text, "(SB)")
			loops++
			continue
		}
		_, call, ok := strings.Cut(line, "CALL ")
		file := ours.FindStringSubmatch(line)
		if !ok || file == nil || !loop.MatchString(name) {
			continue
		}
		calls++
		files[file[1]]++
		if !strings.Contains(call, "(SB)") || strings.Contains(call, "contender.repeat(") {
			t.Errorf("%s calls its generator indirectly: %s", name, strings.TrimSpace(line))
		}
	}
	std := contender.Pick("uuid v7 (Go's own)")[0].New != nil // on this Go
	if len(files) < 3 || std && files["stduuid"] == 0 {
		t.Errorf("calls by file: %v, want some in each", files)
	}
	if loops < 25 || calls < 25 {
		t.Errorf("%d functions with %d calls found, want 25 and more", loops, calls)
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	hundred := contender.Rate{PerSecond: 100, Waits: true}
	for _, tt := range []struct {
		rate contender.Rate
		at   float64
		want string
	}{
		{hundred, 84, ""}, {hundred, 86, "*"}, {hundred, 114, "*"}, {hundred, 116, "†"},
		{contender.Rate{}, 1e9, ""}, {contender.Rate{PerSecond: 100}, 100, ""},
		{contender.Rate{PerSecond: 100}, 116, "†"},
	} {
		if got := tt.rate.Mark(tt.at); got != tt.want {
			t.Errorf("%+v at %v: mark %q, want %q", tt.rate, tt.at, got, tt.want)
		}
	}
}

func TestSlice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		d    time.Duration
		n    int
	}{
		{contender.OneLane, contender.Short, 40},
		{contender.Bwmarrin, 25 * time.Millisecond, 20},
		{"sony/sonyflake", 250 * time.Millisecond, 5},
		{contender.UUID7, 250 * time.Millisecond, 5},
		{"uid.Default 28-22-13", 2 * time.Second, 2},
	} {
		c := contender.Pick(tt.name)[0]
		if d, n := c.Slice(40); d != tt.d || n != tt.n {
			t.Errorf("%s: %v in %d rounds, want %v in %d", tt.name, d, n, tt.d, tt.n)
		}
	}
}
