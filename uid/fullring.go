package uid

import (
	"log/slog"

	"github.com/uidring/uidring/ringbuffer"
)

// What the padder says of a ring that is full, or never is. Nothing here changes which ids there
// are.

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
	next := c.timeline.keyless(number)
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
	case c.opts.PutPolicy == ringbuffer.PutFail:
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
