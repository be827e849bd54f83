package uid

import (
	"sync"
	"sync/atomic"
	"time"
)

// tickCache spares Default the wall clock, which costs twice the monotonic one. It reads the wall
// clock once a millisecond, and when the tick that it showed is over by the monotonic clock. So a
// step of the wall clock is seen a millisecond late at most. That changes no promise: the rollback
// policy is applied to a fresh reading.
//
//	tick.Store ──► until.Store            a refresh, under mu
//	until.Load ──► tick.Load              a reader: its tick is at least as new as its until
//
// The zero start turns the cache off, for generators with a clock of the caller's: a monotonic
// clock that is not the machine's cannot say when a tick is over.
//
// A reader that comes between the two stores of a refresh finds the old until. While that lasts it
// gets the new tick; when it is over the reader reads the clock for itself.
type tickCache struct {
	*core
	start time.Time // of the monotonic clock; zero: every load is fresh

	// until is when, by the monotonic clock, tick has to be read again. A reader loads until before
	// tick, and a refresh stores tick before until: the tick is never older than until says.
	until atomic.Int64
	tick  atomic.Uint64
	mu    sync.Mutex // held by the refresh in progress; never waited for
}

// load returns the position of the clock's tick, a millisecond old at most. It never blocks: while
// another goroutine refreshes the cache, it reads the clock for itself.
func (t *tickCache) load() uint64 {
	if t.start.IsZero() {
		return t.fresh()
	}
	mono := int64(time.Since(t.start))
	if mono < t.until.Load() {
		return t.tick.Load()
	}
	if !t.mu.TryLock() {
		return t.fresh()
	}
	now := t.clock.now() // after mono, so that the tick is not over before until
	tick := t.timeline.at(now)
	left := t.timeline.time(t.timeline.next(tick)).Sub(now)
	// The order is the one that the type's comment draws: until publishes tick.
	t.tick.Store(tick)
	t.until.Store(mono + int64(min(time.Millisecond, left)))
	t.mu.Unlock()
	t.reportJump()
	return tick
}

// fresh returns the position of the clock's tick by a reading of its own. It changes no word of the
// cache, so it needs no lock.
func (t *tickCache) fresh() uint64 {
	defer t.reportJump()
	return t.timeline.at(t.clock.now())
}
