package contender_test

import (
	"bufio"
	"bytes"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
)

func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range contender.All() {
		if seen[c.Name] {
			t.Errorf("two contenders are called %q", c.Name)
		}
		seen[c.Name] = true
		if got, ok := contender.ByName(c.Name); !ok || got.Name != c.Name {
			t.Errorf("ByName(%q) = %q, %v", c.Name, got.Name, ok)
		}
	}
	for _, name := range []string{
		contender.Add, contender.AddCalled, contender.AddStore, contender.AddOwn, contender.Store256,
		contender.Store1024, contender.TimeNow, contender.TimeSince, contender.OneLane,
		contender.ManyLanes, contender.OneLaneWide, contender.DefaultWide, contender.DefaultNarrow,
		contender.Fill256, contender.Fill1024, contender.ManyFill256, contender.ManyFill1024,
		contender.WUID, contender.Sno, contender.Original,
	} {
		if !seen[name] {
			t.Errorf("no contender is called %q", name)
		}
	}
	if _, ok := contender.ByName("nobody"); ok {
		t.Error(`ByName("nobody") finds something`)
	}
}

// Every contender starts, runs, hands different ids to two goroutines, and closes.
func TestContenders(t *testing.T) {
	flawed := []string{contender.Original, contender.Sno} // known to repeat ids under contention
	for _, c := range contender.All() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			in, err := c.New()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := in.Run(300); err != nil {
				t.Fatalf("Run: %v", err)
			}
			k, ok := in.(contender.Keyer)
			if ok != (c.Bits > 0) {
				t.Fatalf("shows ids: %v, want it with ids, of %d bits", ok, c.Bits)
			}
			if !ok {
				return
			}
			keys := make([]contender.Key, 2000)
			var wg sync.WaitGroup
			for g := range 2 {
				wg.Go(func() {
					if err := k.Keys(keys[1000*g : 1000*(g+1)]); err != nil {
						t.Errorf("Keys: %v", err)
					}
				})
			}
			wg.Wait()
			slices.SortFunc(keys, contender.Key.Compare)
			for i := 1; i < len(keys); i++ {
				if keys[i] == keys[i-1] && !slices.Contains(flawed, c.Name) {
					t.Fatalf("%v is there twice", keys[i])
				}
			}
			if keys[0] == (contender.Key{}) {
				t.Error("an id is not set")
			}
		})
	}
}

// A measured loop calls its generator directly. A call through a function value or an interface
// costs as much as a fast generator; the machine code shows it as a call without a symbol. What the
// generators themselves do is not counted: only instructions of this package's files are.
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
		"-s", `internal/contender\.[^ ]*\.Run$`, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	ours := regexp.MustCompile(`^\s*(floors|own|peers|rivals)\.go:\d+`)
	loops, calls := 0, 0
	name := ""
	for s := bufio.NewScanner(bytes.NewReader(dump)); s.Scan(); {
		line := s.Text()
		if text, ok := strings.CutPrefix(line, "TEXT "); ok {
			loops++
			name, _, _ = strings.Cut(text, "(SB)")
			continue
		}
		_, call, ok := strings.Cut(line, "CALL ")
		if !ok || !ours.MatchString(line) {
			continue
		}
		calls++
		if !strings.Contains(call, "(SB)") {
			t.Errorf("%s has an indirect call: %s", name, strings.TrimSpace(line))
		}
	}
	if loops < 25 || calls < 25 {
		t.Errorf("%d loops with %d calls found, want 25 and more", loops, calls)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		perSec float64
		waits  bool
	}{
		{"bwmarrin/snowflake", 4_096_000, true},
		{"sony/sonyflake", 25_600, true},
		{"yitter/idgenerator-go", 59_000, true},
		{contender.OneLane, 8192, false},
		{contender.OneLaneWide, 1 << 28, false},
		{"rs/xid", 1 << 24, false},
		{contender.WUID, 0, false},
	} {
		c, _ := contender.ByName(tt.name)
		if math.Abs(c.Rate.PerSecond-tt.perSec) > 1 || c.Rate.Waits() != tt.waits {
			t.Errorf("%s: %v a second, waits %v, want %v, %v",
				tt.name, c.Rate.PerSecond, c.Rate.Waits(), tt.perSec, tt.waits)
		}
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	hundred := contender.Rate{PerSecond: 100, Beyond: contender.Waits}
	for _, tt := range []struct {
		rate contender.Rate
		at   float64
		want string
	}{
		{hundred, 84, ""}, {hundred, 86, "*"}, {hundred, 114, "*"}, {hundred, 116, "†"},
		{contender.Rate{}, 1e9, ""},
	} {
		if got := tt.rate.Mark(tt.at); got != tt.want {
			t.Errorf("%+v at %v: mark %q, want %q", tt.rate, tt.at, got, tt.want)
		}
	}
}

// A contender that waits keeps to its rate: the layout that it is said to have is the one it has.
func TestRateIsKept(t *testing.T) {
	t.Parallel()
	c, ok := contender.ByName("sony/sonyflake")
	if !ok {
		t.Fatal("no sony/sonyflake")
	}
	in, err := c.New()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	start := time.Now()
	const n = 4096
	if err := in.Run(n); err != nil {
		t.Fatal(err)
	}
	// The first tick's 256 ids may come at once.
	least := time.Duration((n - 2*256) / c.Rate.PerSecond * 1e9)
	if took := time.Since(start); took < least {
		t.Errorf("%d ids took %v, want at least %v", n, took, least)
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
		{"bwmarrin/snowflake", 25 * time.Millisecond, 20},
		{"sony/sonyflake", 250 * time.Millisecond, 5},
		{"google/uuid v4", 250 * time.Millisecond, 5},
		{contender.DefaultNarrow, 2 * time.Second, 2},
	} {
		c, _ := contender.ByName(tt.name)
		if d, n := c.Slice(40); d != tt.d || n != tt.n {
			t.Errorf("%s: %v in %d rounds, want %v in %d", tt.name, d, n, tt.d, tt.n)
		}
	}
}

// BenchmarkRun is every contender on as many goroutines as -cpu says, for users of benchstat.
func BenchmarkRun(b *testing.B) {
	for _, c := range contender.All() {
		b.Run(c.Name, func(b *testing.B) {
			in, err := c.New()
			if err != nil {
				b.Fatal(err)
			}
			defer in.Close()
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			procs := runtime.GOMAXPROCS(0)
			for g := range procs {
				wg.Go(func() {
					if err := in.Run(b.N*(g+1)/procs - b.N*g/procs); err != nil {
						b.Error(err)
					}
				})
			}
			wg.Wait()
		})
	}
}
