package contender

import (
	"fmt"
	"math"
	"time"
)

// Ceiling is the number of ids a second that an id's layout has room for on one generator. A contender cannot measure
// faster than its ceiling for long, so a row that sits at it shows the layout and not the code.
//
// The zero value means that the layout sets no ceiling that a program could reach.
type Ceiling struct {
	PerSecond float64
	At        string // what happens there
}

// What happens at a ceiling.
const (
	Waits   = "waits"                 // for the next tick
	Sleeps  = "sleeps"                // for the next tick
	Borrows = "borrows"               // from the future, without a bound
	Drifts  = "borrows 2,000 ticks"   // from the future, then waits until the clock has caught up
	Repeats = "repeats"               // hands the same ids out again
	Renews  = "renews in the back"    // fetches a new high part
	Never   = "none within any reach" // random bits, or a counter that outlives the machine
)

// PerTick returns the ceiling of a layout with ids ids a tick.
func PerTick(ids int64, tick time.Duration, at string) Ceiling {
	return Ceiling{PerSecond: float64(ids) / tick.Seconds(), At: at}
}

// NsPerID returns the fewest nanoseconds per id that the layout permits in the long run; 0 without a ceiling.
func (c Ceiling) NsPerID() float64 {
	if c.PerSecond == 0 {
		return 0
	}
	return 1e9 / c.PerSecond
}

// Binds reports whether a rate of ids a second is within 15 percent of the ceiling or above it.
func (c Ceiling) Binds(perSecond float64) bool {
	return c.PerSecond != 0 && perSecond >= 0.85*c.PerSecond
}

// Hard reports whether the ceiling holds a run of any length back: a layout that borrows or repeats shows no ceiling.
func (c Ceiling) Hard() bool {
	return c.PerSecond != 0 && (c.At == Waits || c.At == Sleeps)
}

// String returns text such as "4,096,000/s = 244 ns, waits".
func (c Ceiling) String() string {
	if c.PerSecond == 0 {
		return "none"
	}
	return fmt.Sprintf("%s/s = %s ns, %s", group(int64(math.Round(c.PerSecond))), nanos(c.NsPerID()), c.At)
}

// nanos returns v with three significant digits or all its whole ones.
func nanos(v float64) string {
	switch {
	case v >= 1000:
		return group(int64(math.Round(v)))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// group returns n with commas between the thousands.
func group(n int64) string {
	if n < 0 {
		return "-" + group(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", group(n/1000), n%1000)
}
