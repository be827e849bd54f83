package uid

import (
	"errors"
	"log/slog"
	"time"
)

// padder is the goroutine that keeps the ring full, and the ids in it close to the clock, until
// done is closed. NewCached starts it, Close ends it.
//
// It looks at ring and lanes when kick wakes it and at least every ScheduleInterval, because the
// ids of an idle service grow old too. A look drops what would be too old within two intervals: one
// until the next look, and one for a look that comes late. See composer.oldestAllowed.
//
// With TakePad callers do not depend on it: they compose for themselves when the ring is empty.
// With TakeWait and TakeReject the padder alone composes.
//
//	kick, or ScheduleInterval ──► follow: drop what is too old ──► fillAll ──► report a full ring
//
// A padder that runs late, on a machine that is busy, lets ids grow older than MaxLag, or lets
// callers wait. It cannot make an id come twice, because every goroutine composes in the same way,
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
		// Reset after the look, so that a slow look is not followed by another one at once.
		timer.Reset(c.look())
	}
}

// look is one turn of the padder: it drops what is too old from ring and lanes, fills the ring, and
// returns how long the padder may sleep. It holds no lock between its steps, so callers take and
// compose concurrently. It never waits for the claim's authority: where the claim forbids ids,
// fillAll returns at once, and the keeper kicks the padder when the claim has changed.
func (c *Cached) look() time.Duration {
	c.runs.Add(1)
	c.composer.follow()
	err := c.composer.fillAll() // nil: the ring is full
	c.reportJump()
	if err != nil && c.gate.awaited() {
		c.keeper.refused() // waiting callers do not look again, so it is said here that ids stopped
	}
	switch {
	case err == nil:
		c.ringFull()
	case errors.Is(err, ErrLead) && c.gate.awaited():
		// Callers wait for the clock: look again when it has caught up, in 100 µs at the least.
		return min(c.opts.ScheduleInterval, c.untilLead(c.composer.pos.Load()))
	}
	return c.opts.ScheduleInterval
}

// ringFull applies the put policy to next, the id that would be composed now if the full ring had a
// slot for it. The policy is about a report only: next is not taken, and a later look composes it.
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
// of several in a row is logged. Calls do not overlap, so refused needs no compare-and-swap: a
// Cached has either PutFail, whose calls come from the padder, or a PutFunc, one at a time.
func (c *Cached) recordPut(next ID, err error) {
	if err != nil {
		c.rejPut.Add(1)
		if !c.refused.Load() {
			c.keeper.journal.log(func(l *slog.Logger) {
				l.Warn("ring is full", "next", int64(next), "error", err)
			})
		}
	}
	c.refused.Store(err != nil)
}
