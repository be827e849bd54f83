package uid

import (
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Stats is a snapshot of a generator. Each field is read atomically, the whole is not; every figure is derived from words
// that exist anyway, so that Next counts nothing.
type Stats struct {
	Worker      int64            // worker id
	WindowFrom  time.Time        // the claim's window; zero: unbounded
	WindowUntil time.Time        //
	Layout      bitsalloc.Layout // with its defaults filled in
	Expires     time.Time        // first instant that the time bits cannot hold

	Position time.Time     // begin of the tick that the next id composed will carry
	Lead     time.Duration // how far the ids that are handed out are ahead of the clock: the borrowed time; 0 when not
	Lag      time.Duration // how far the oldest id that may be handed out is behind the clock; 0 when it is not

	Tail, Cursor int64 // runs put into and taken from the ring, counted from -1 (Cached)
	Len, Cap     int64 // ids in the ring, and how many fit (Cached)
	RunLength    int   // ids per run (Cached)
	Lanes        int   // (Cached)

	RunsTaken  int64 // runs taken from the ring by callers
	RunsStale  int64 // runs dropped because the clock had passed them
	PadderRuns int64 // times that the padder looked at the ring
	Pads       int64 // times that a caller filled the ring itself (policy Pad)
	Waits      int64 // times that a caller had to wait

	RejectsEmpty    int64 // calls that failed with ErrEmpty
	RejectsLead     int64 // calls that failed with ErrLead
	RejectsPut      int64 // padding runs that PutPolicy Fail or PutFunc refused
	RejectsRollback int64 // calls that failed with ErrClockBack (Default)

	ClockHeld time.Duration // jump of the wall clock that is held back at present; 0: none

	Err error // why no further id can be composed at present, MaxLead aside; nil when all is well
}

// stats fills in what both generators report.
func (c *core) stats(position int64) Stats {
	g, now := c.keeper.grant.Load(), c.clock.now()
	s := Stats{
		Worker: g.worker, WindowFrom: g.start, WindowUntil: g.until,
		Layout: c.opts.Layout, Expires: c.alloc.Expires(),
		Position: c.alloc.TimeAt(position), ClockHeld: c.clock.jump(),
		Waits: c.waits.Load(), RejectsLead: c.rejLead.Load(), RejectsEmpty: c.rejEmpty.Load(),
	}
	s.Lead = max(0, s.Position.Sub(now))
	if c.closed.Load() {
		s.Err = ErrClosed
	} else if s.Err = g.permits(c.alloc, max(position, c.nowTick(g))); s.Err == errExtending {
		s.Err = nil
	}
	return s
}
