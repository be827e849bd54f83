package uid

import "time"

// padder is the goroutine that keeps the ring full, and the ids in it close to the clock, until
// done is closed. NewCached starts it, Close ends it. The package comment's glossary has the words.
//
// It looks at ring and lanes when kick wakes it and at least every ScheduleInterval, because the
// ids of an idle service grow old too. A check drops what would be too old within two intervals:
// one until the next turn, and one for a turn that comes late. See composer.oldestAllowed.
//
// With TakePad callers do not depend on it: they compose for themselves when the ring is empty.
// With TakeWait and TakeReject the padder alone composes.
//
//	kick, or ScheduleInterval ─► pad: drop what is too old, fill the ring ─► report ─► pause
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

// look is one turn of the padder. It returns how long the padder may sleep. It holds no lock
// between its steps, so callers take and compose concurrently.
func (c *Cached) look() time.Duration {
	c.runs.Add(1)
	full, err := c.pad()
	c.report(full, err)
	return c.pause(err)
}

// pad makes ring and lanes follow the clock and fills the ring. It reports whether the ring is
// full, and the bound that stopped it. It composes at least one batch, however late this goroutine
// is: a caller may wait for it. It never waits for the claim's authority: where the claim forbids
// ids it returns at once, and the keeper kicks the padder when the claim has changed.
func (c *Cached) pad() (full bool, err error) {
	before := c.composer.stale.Load()
	c.composer.follow()
	begin := time.Now()
	full, err = c.composer.fillWhile(func() bool {
		return time.Since(begin) < c.opts.ScheduleInterval/8
	})
	c.recordFill(c.composer.stale.Load() > before, full || err != nil)
	return full, err
}

// report says what pad has found: a jump of the clock, a full ring, and a bound that callers wait
// for. They do not look again, so it is said here that ids have stopped.
func (c *Cached) report(full bool, err error) {
	c.reportJump()
	if full {
		c.ringFull()
	}
	if err != nil && c.gate.awaited() {
		c.keeper.refused()
	}
}

// pause returns how long the padder may sleep after a turn that err stopped. Where callers wait for
// the clock, that is until the clock has caught up, and 100 µs at the least.
func (c *Cached) pause(err error) time.Duration {
	if err == ErrLead && c.gate.awaited() {
		return min(c.opts.ScheduleInterval, c.untilLead(c.composer.pos.Load()))
	}
	return c.opts.ScheduleInterval
}
