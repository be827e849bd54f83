package uid

import (
	"sync/atomic"
	"time"
)

// confirmAfter is how long a forward jump has to last before the clock is believed without anyone's confirmation.
const confirmAfter = 10 * time.Minute

// clock reads the wall clock and holds back jumps ahead that the monotonic clock did not see: a clock that is set to 2099
// for a moment would otherwise drag the position there, and positions never come back.
//
// Its state is the accepted difference between the two clocks. Whatever goes back or creeps is accepted as it comes;
// only a jump ahead by more than maxJump is held, which means that time goes on from where it was, at the monotonic
// clock's pace.
type clock struct {
	read    func() (wall time.Time, mono time.Duration) // never changes
	maxJump int64                                       // nanoseconds; never changes
	onHold  func(jump time.Duration)                    // called once per hold, on the reader's goroutine

	offset atomic.Int64 // accepted wall - mono, nanoseconds
	held   atomic.Int64 // mono at which the present hold began, plus 1; 0: none
}

// newClock returns a clock that believes its first reading.
func newClock(read func() (time.Time, time.Duration), maxJump time.Duration, onHold func(time.Duration)) *clock {
	k := &clock{read: read, maxJump: int64(maxJump), onHold: onHold}
	wall, mono := read()
	k.offset.Store(wall.UnixNano() - int64(mono))
	return k
}

// systemClock returns a reader of the machine's clocks. One call of time.Now reads both.
func systemClock() func() (time.Time, time.Duration) {
	start := time.Now()
	return func() (time.Time, time.Duration) {
		t := time.Now()
		return t, t.Sub(start)
	}
}

// now returns the wall time, or the held time while a jump ahead is not confirmed.
func (k *clock) now() time.Time {
	wall, mono := k.read()
	offset := wall.UnixNano() - int64(mono)
	accepted := k.offset.Load()
	switch d := offset - accepted; {
	case d > k.maxJump:
		return k.hold(wall, mono, offset, accepted)
	case d > int64(time.Millisecond) || d < -int64(time.Millisecond):
		k.offset.Store(offset) // a race between two readers stores one of two readings, both acceptable
	}
	if k.held.Load() != 0 {
		k.held.Store(0) // the jump took itself back
	}
	return wall
}

// hold returns the time as if the jump had not happened, or wall once the jump has lasted for confirmAfter.
func (k *clock) hold(wall time.Time, mono time.Duration, offset, accepted int64) time.Time {
	since := k.held.Load()
	if since == 0 && k.held.CompareAndSwap(0, int64(mono)+1) {
		k.onHold(time.Duration(offset - accepted))
		since = int64(mono) + 1
	}
	if since != 0 && int64(mono)+1-since >= int64(confirmAfter) {
		k.offset.Store(offset)
		return wall
	}
	return time.Unix(0, accepted+int64(mono))
}

// jump returns how far the wall clock is ahead of the held time, 0 when nothing is held.
func (k *clock) jump() time.Duration {
	if k.held.Load() == 0 {
		return 0
	}
	wall, mono := k.read()
	return max(0, time.Duration(wall.UnixNano()-int64(mono)-k.offset.Load()))
}

// confirm ends a hold if authority, a time read from elsewhere just before, agrees with the wall clock to within maxJump.
func (k *clock) confirm(authority time.Time) bool {
	wall, mono := k.read()
	if d := wall.Sub(authority); d > time.Duration(k.maxJump) || d < -time.Duration(k.maxJump) {
		return false
	}
	k.offset.Store(wall.UnixNano() - int64(mono))
	k.held.Store(0)
	return true
}
