package contender

import "time"

// Rate is the number of ids a second that an id's layout has room for on one generator. The zero
// value means that the layout has room for more than a program can reach.
type Rate struct {
	PerSecond float64
	Beyond    Beyond
}

// Beyond says what a generator does when it is asked for more than its layout can sustain.
type Beyond string

// What generators do.
const (
	Waits   Beyond = "waits"
	Drifts  Beyond = "borrows 2,000 ticks, then waits"
	Borrows Beyond = "borrows from the future"
	Repeats Beyond = "repeats ids"
)

// Marks of a measured rate.
const (
	AtRate   = "*" // within 15 percent of what the layout can sustain: the row shows the layout
	OverRate = "†" // above that: the layout cannot sustain it
)

// perTick returns the rate of a layout with so many ids a tick.
func perTick(ids int64, tick time.Duration, beyond Beyond) Rate {
	return Rate{float64(ids) / tick.Seconds(), beyond}
}

// Waits reports whether the generator makes callers wait sooner or later.
func (r Rate) Waits() bool { return r.Beyond == Waits || r.Beyond == Drifts }

// Mark returns the mark of a measured rate, or "".
func (r Rate) Mark(perSecond float64) string {
	switch {
	case r.PerSecond == 0 || perSecond < 0.85*r.PerSecond:
		return ""
	case perSecond <= 1.15*r.PerSecond:
		return AtRate
	}
	return OverRate
}
