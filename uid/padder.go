package uid

import (
	"log/slog"
	"time"
)

// padder is the goroutine that keeps the ring full, and the ids in it close to the clock, until
// done is closed. NewCached starts it, Close ends it.
//
// It looks at ring and lanes when kick wakes it and at least every ScheduleInterval, because the
// ids of an idle service grow old too. A look drops what would be too old within two intervals: one
// until the next turn, and one for a turn that comes late. See composer.oldestAllowed.
//
// With TakePad callers do not depend on it: they compose for themselves when the ring is empty.
// With TakeWait and TakeReject the padder alone composes.
//
//	kick, or ScheduleInterval ─► follow: drop what is too old ─► fillWhile ─► report a full ring
//
// A turn composes for an eighth of an interval at most, so that the next one is not late, and so
// that a ring which is never full, because its runs grow old faster than it is filled, costs an
// eighth of a processor while nobody takes ids. A caller that waits kicks it for more.
//
// A padder that runs late, on a machine that is busy, lets ids grow older than MaxLag, or lets
// callers wait. It cannot cause a duplicate, because every goroutine composes in the same way,
// under the composer's lock.
func (c *Cached) padder(done <-chan struct{}) {
	timer := time.NewTimer(c.opts.ScheduleInterval)
	for {
		select {
		case <-done:
			return
		case <-c.wake:
		case <-timer.C:
		}
		if c.closed.Load() { // done is ready as well, or soon, and select takes any
			return
		}
		// Reset after the turn, so that a slow turn is not followed by another one at once.
		timer.Reset(c.look())
	}
}

// look is one turn of the padder: it drops what is too old from ring and lanes, fills the ring, and
// returns how long the padder may sleep. It holds no lock between its steps, so callers take and
// compose concurrently. It never waits for the claim's authority: where the claim forbids ids,
// fillWhile returns at once, and the keeper kicks the padder when the claim has changed.
func (c *Cached) look() time.Duration {
	c.runs.Add(1)
	before := c.composer.stale.Load()
	c.composer.follow()
	// At least one batch, however late this goroutine is: a caller may wait for it.
	begin := time.Now()
	full, err := c.composer.fillWhile(func() bool {
		return time.Since(begin) < c.opts.ScheduleInterval/8
	})
	c.recordFill(c.composer.stale.Load() > before, full || err != nil)
	c.reportJump()
	if err != nil && c.gate.awaited() {
		c.keeper.refused() // waiting callers do not look again, so it is said here that ids stopped
	}
	switch {
	case full:
		c.ringFull()
	case err == ErrLead && c.gate.awaited():
		// Callers wait for the clock: look again when it has caught up, in 100 µs at the least.
		return min(c.opts.ScheduleInterval, c.untilLead(c.composer.pos.Load()))
	}
	return c.opts.ScheduleInterval
}

// recordFill logs, once, that the ring cannot be kept full: three times in a row what was composed
// for it grew too old before it was done, which is when the ring is full or a bound forbids more.
// One time may be a burst, or a machine that was busy.
func (c *Cached) recordFill(dropped, done bool) {
	switch {
	case done:
		c.unkept = 0
	case dropped:
		if c.unkept++; c.unkept == 3 && !c.unkeptSaid {
			c.unkeptSaid = true
			slots, lag := c.composer.ring.Cap(), c.opts.MaxLag
			c.keeper.journal.log(func(l *slog.Logger) {
				l.Warn("ring cannot be kept full: runs grow older than MaxLag first",
					"slots", slots, "max_lag", lag)
			})
		}
	}
}

// ringFull applies the put policy to next, the id that would be composed now if the full ring had a
// slot for it. The policy is about a report only: next is not taken, and a later turn composes it.
// So a PutFunc must not use next as an id of its own: a caller gets it.
func (c *Cached) ringFull() {
	number, ok := c.composer.nextNumber()
	if !ok {
		return // the time bits are used up, so there is no next id
	}
	next := c.keyless(number)
	switch {
	case c.opts.PutFunc != nil:
		// On a goroutine of its own, because a PutFunc may wait for an id, and so for the padder.
		// One at a time: while one runs, full rings go unreported.
		if c.putting.CompareAndSwap(false, true) {
			c.wg.Go(func() {
				defer c.putting.Store(false)
				c.recordPut(next, c.opts.PutFunc(next))
			})
		}
	case c.opts.PutPolicy == PutFail:
		c.recordPut(next, errRingFull)
	}
}

// recordPut records the put policy's answer for next. An error counts as a refused put; the first
// of several in a row is logged. Calls do not overlap, so putRefused needs no compare-and-swap: a
// Cached has either PutFail, whose calls come from the padder, or a PutFunc, one at a time.
func (c *Cached) recordPut(next ID, err error) {
	if err != nil {
		c.rejPut.Add(1)
		if !c.putRefused.Load() {
			c.keeper.journal.log(func(l *slog.Logger) {
				l.Warn("ring is full", "next", int64(next), "error", err)
			})
		}
	}
	c.putRefused.Store(err != nil)
}
