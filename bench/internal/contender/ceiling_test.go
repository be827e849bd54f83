package contender_test

import (
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bench/internal/contender"
)

func TestCeiling(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		c       contender.Ceiling
		perSec  float64
		ns      float64
		text    string
		hard    bool
		binds   float64
		tooSlow float64
	}{
		{"4,096 a millisecond", contender.PerTick(4096, time.Millisecond, contender.Waits), 4_096_000, 244.140625, "4,096,000/s = 244 ns, waits", true, 4e6, 3e6},
		{"256 in 10 ms", contender.PerTick(256, 10*time.Millisecond, contender.Sleeps), 25_600, 39_062.5, "25,600/s = 39,063 ns, sleeps", true, 25_600, 20_000},
		{"8,192 a second, borrowing", contender.PerTick(8192, time.Second, contender.Borrows), 8192, 122_070.3125, "8,192/s = 122,070 ns, borrows", false, 1e8, 100},
		{"2^28 a second", contender.PerTick(1<<28, time.Second, contender.Waits), 1 << 28, 3.7252903, "268,435,456/s = 3.73 ns, waits", true, 3e8, 1e7},
		{"2^24 a second", contender.PerTick(1<<24, time.Second, contender.Repeats), 1 << 24, 59.604645, "16,777,216/s = 59.6 ns, repeats", false, 2e7, 1e7},
	} {
		if got := tt.c.PerSecond; math.Abs(got/tt.perSec-1) > 1e-9 {
			t.Errorf("%s: PerSecond = %v, want %v", tt.name, got, tt.perSec)
		}
		if got := tt.c.NsPerID(); math.Abs(got/tt.ns-1) > 1e-6 {
			t.Errorf("%s: NsPerID = %v, want %v", tt.name, got, tt.ns)
		}
		if got := tt.c.String(); got != tt.text {
			t.Errorf("%s: String = %q, want %q", tt.name, got, tt.text)
		}
		if got := tt.c.Hard(); got != tt.hard {
			t.Errorf("%s: Hard = %v, want %v", tt.name, got, tt.hard)
		}
		if !tt.c.Binds(tt.binds) || tt.c.Binds(tt.tooSlow) {
			t.Errorf("%s: Binds(%v), Binds(%v) = %v, %v, want true, false", tt.name, tt.binds, tt.tooSlow, tt.c.Binds(tt.binds), tt.c.Binds(tt.tooSlow))
		}
	}
}

func TestNoCeiling(t *testing.T) {
	t.Parallel()
	var c contender.Ceiling
	if c.Binds(1e12) || c.Hard() || c.NsPerID() != 0 || c.String() != "none" {
		t.Errorf("the zero Ceiling is %v, hard %v, %v ns", c, c.Hard(), c.NsPerID())
	}
}

// No contender may be measured faster than a ceiling that it waits at, so the stated ceiling must not be too low: a second's
// worth of ids takes about a second.
func TestStatedCeilingsAreNotTooLow(t *testing.T) {
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
	least := time.Duration(float64(n-2*256) * c.Ceiling.NsPerID())
	if took := time.Since(start); took < least {
		t.Errorf("%d ids took %v, want at least %v with a ceiling of %v", n, took, least, c.Ceiling)
	}
}
