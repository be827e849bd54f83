package bitsalloc

import (
	"math/bits"
	"time"
)

const (
	nanosPerSecond = int64(time.Second)

	// nearSeconds bounds the distances in seconds whose nanoseconds, a second more, stay below
	// 2^62: 146 years. Ticks of one nanosecond then fit an int64 with the highest FirstTick added.
	nearSeconds = (1<<62-1)/nanosPerSecond - 1

	// farthest bounds what TickAt and TimeAt return: as a tick it lies beyond every MaxTick, and as
	// a number of seconds (146 billion years) within what time.Time can order.
	farthest = 1 << 62
)

// TickAt returns the tick that t falls in: below FirstTick before the epoch, above MaxTick from
// Expires on. It is exact for every instant; only a count beyond 2^62 ticks from the epoch is held
// there.
func (a *Allocator) TickAt(t time.Time) int64 {
	// The epoch lies within 2^38 seconds of 1970, so a difference that wraps around is still far
	// from zero and goes the long way.
	sec, nano := t.Unix()-a.epochSec, int64(t.Nanosecond())-a.epochNano
	if sec > nearSeconds || sec < -nearSeconds {
		return a.farTickAt(t)
	}
	return a.firstTick + floorDiv(sec*nanosPerSecond+nano, a.tick)
}

// farTickAt is TickAt for distances whose nanoseconds need more than 64 bits.
func (a *Allocator) farTickAt(t time.Time) int64 {
	sec, nano := t.Unix(), int64(t.Nanosecond())-a.epochNano
	before := sec < a.epochSec
	// Modulo 2^64 the difference of the greater and the lesser is exact, however far apart they
	// are.
	apart := uint64(sec) - uint64(a.epochSec)
	var round uint64
	if before {
		apart, nano = -apart, -nano
		round = uint64(a.tick) - 1 // rounding down is rounding away from zero
	}
	// The last second goes to nano, which is above 0 then.
	hi, lo := bits.Mul64(apart-1, uint64(nanosPerSecond))
	lo, carry := bits.Add64(lo, uint64(nano+nanosPerSecond)+round, 0)
	hi += carry
	ticks := uint64(farthest)
	if hi < uint64(a.tick) { // else the quotient has more than 64 bits
		quo, _ := bits.Div64(hi, lo, uint64(a.tick))
		ticks = min(ticks, quo)
	}
	if before {
		return a.firstTick - int64(ticks)
	}
	return a.firstTick + int64(ticks)
}

// TimeAt returns the instant, in UTC, at which tick begins. Any tick will do, also a negative one
// and one beyond MaxTick: TickAt(TimeAt(tick)) is tick, as far as TickAt counts. Only an instant
// more than 2^62 seconds (146 billion years) from the epoch is held there.
func (a *Allocator) TimeAt(tick int64) time.Time {
	before := tick < a.firstTick
	// Exact, as in farTickAt.
	apart := uint64(tick) - uint64(a.firstTick)
	if before {
		apart = -apart
	}
	var sec, nano uint64 = farthest, 0
	// The length in nanoseconds needs up to 126 bits; below 1e9<<64 its seconds fit 64.
	if hi, lo := bits.Mul64(apart, uint64(a.tick)); hi < uint64(nanosPerSecond) {
		if s, n := bits.Div64(hi, lo, uint64(nanosPerSecond)); s < farthest {
			sec, nano = s, n
		}
	}
	if before {
		return time.Unix(a.epochSec-int64(sec), a.epochNano-int64(nano)).UTC()
	}
	return time.Unix(a.epochSec+int64(sec), a.epochNano+int64(nano)).UTC()
}

// Expires returns the first instant that the time bits cannot hold: the end of MaxTick, up to
// TimeAt's bound. A layout whose time outlasts the year 9999 returns an instant that time.Time
// orders and prints, yet refuses to marshal.
func (a *Allocator) Expires() time.Time { return a.TimeAt(a.maxTick + 1) }

// floorDiv returns the quotient of a and a positive b, rounded down rather than towards zero.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
