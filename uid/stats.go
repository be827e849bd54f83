package uid

import (
	"cmp"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

// Stats is a snapshot of a generator. Each field is read atomically, the whole is not. Every figure
// comes from words that exist anyway or are written once a run, so that Next counts nothing.
// Counters start at 0 with the generator and only grow. Fields marked (Cached) or (Default) are
// zero for the other generator.
//
// Its text, slog and JSON forms leave zero fields out; see MarshalJSON.
type Stats struct {
	// Layout is that of the position's era, with its defaults filled in.
	Layout bitsalloc.Layout

	// Expires is the first instant that the time bits of the last era cannot hold. Plan another era
	// well before it.
	Expires time.Time

	// Worker is the claim's worker id.
	Worker int64

	// Authority says where worker ids come from, if the assigner is a fmt.Stringer.
	Authority string

	// Universe tells the universe of ids from others, such as those of staging, whatever address it
	// has here: what the claim says as an assigner.Named, or else Authority.
	Universe string

	// WindowFrom and WindowUntil are the claim's window. A zero time is without bound.
	WindowFrom, WindowUntil time.Time

	// IDsUntil is the end of the last whole tick of window and layout. The ids' stamps lie before
	// it, if the claim is not extended. A burst may use them up earlier, and a ring may hand out
	// the last of them for up to MaxLag longer.
	IDsUntil time.Time

	// LastExtended is when the claim was made or last extended, by the local clock.
	LastExtended time.Time

	// FailingSince is since when extending has failed, by the local clock. Zero: it does not.
	FailingSince time.Time

	// ExtendErr is why extending fails, although ids may go on to IDsUntil. Nil: it does not.
	ExtendErr error

	// Claims and ClaimsLost count the claims made, the first one included, and those of them that
	// another owner took over.
	Claims, ClaimsLost int64

	// Extends and ExtendFailures count how often extending the claim succeeded and failed.
	Extends, ExtendFailures int64

	// Position is the start of the tick that the next id composed will carry.
	Position time.Time

	// Lead is how far the ids handed out are ahead of the clock: the borrowed time. It is bounded
	// by MaxLead.
	Lead time.Duration

	// Lag is how far the oldest id not handed out is behind the clock. It is bounded by MaxLag.
	// (Cached)
	Lag time.Duration

	// Issued counts the ids handed out. It lies between the counts at the start and at the end of
	// the call of Stats, so a later call never returns less. With Cached the numbers that late
	// callers skipped count too.
	Issued int64

	// Tail and Cursor are the runs put into and taken from the ring, counted from -1. Their
	// difference is the number of runs in it. (Cached)
	Tail, Cursor int64

	// Len and Cap are the ids in the ring, and how many fit. What the lanes hold is not in Len.
	// (Cached)
	Len, Cap int64

	// RunLength and Lanes are the options as they came out: ids per run, and number of lanes.
	// (Cached)
	RunLength, Lanes int

	// RunsTaken counts the runs that callers took from the ring, RunsStale those that were dropped:
	// too old, of a lost claim, or by Close. (Cached)
	RunsTaken, RunsStale int64

	// PadderRuns counts how often the padder looked at the ring. (Cached)
	PadderRuns int64

	// Pads counts how often a caller found the ring empty and filled it. Where it grows fast, a
	// larger BoostPower or PaddingFactor lets fewer callers compose. (Cached)
	Pads int64

	// Waits counts how often a caller had to wait. Waited is how long callers waited, all together,
	// for the waits that are over.
	Waits  int64
	Waited time.Duration

	// Calls that failed, by their error. RejectsClaim counts ErrClaimExpired, assigner.ErrClaimLost
	// and assigner.ErrSuperseded. A call that an ended ctx has broken off is not among them.
	RejectsEmpty     int64 // ErrEmpty
	RejectsLead      int64 // ErrLead
	RejectsClaim     int64
	RejectsExhausted int64 // ErrExhausted
	RejectsRollback  int64 // ErrClockBack (Default)

	// RejectsPut counts the padding runs that PutFail or PutFunc refused. (Cached)
	RejectsPut int64

	// ClockHeld is the jump of the wall clock that is held back: one of more than an hour is, until
	// the claim's authority confirms it, or, where the authority does not contradict it, until it
	// has lasted for ten minutes. 0: none.
	ClockHeld time.Duration

	// Err is why no id can be handed out: what a call would fail with now, or would have to wait
	// for until after the next tick, whatever the take policy is. Nil: one can, or will be in the
	// next tick, or after an extension of the claim that is under way. With MaxLead it is nil for a
	// burst, which waits for the next tick, and ErrLead when the clock went back by more than that.
	Err error
}

// stats fills in what both generators report. position is loaded by the caller, before the clock is
// read here: a position that moves meanwhile is reported as it was, with a lead that is too small.
func (c *core) stats(position uint64) Stats {
	k, now := c.keeper, c.clock.now()
	w := k.window.Load()
	s := Stats{
		Layout:  c.timeline.of(position).alloc.Layout(),
		Expires: c.eras.All()[len(c.eras.All())-1].Expires(),
		Worker:  w.worker, Authority: k.authority, Universe: cmp.Or(w.universe, k.authority),
		WindowFrom: w.start, WindowUntil: w.until, IDsUntil: c.timeline.time(w.end),
		LastExtended: w.extended, FailingSince: w.failing, ExtendErr: pending(w.err),
		Claims: k.made.Load(), ClaimsLost: k.lost.Load(),
		Extends: k.extends.Load(), ExtendFailures: k.failures.Load(),
		Position: c.timeline.time(position), ClockHeld: c.clock.jump(),
		Waits: c.waits.Load(), Waited: time.Duration(c.waited.Load()),
		RejectsEmpty: c.rejEmpty.Load(), RejectsLead: c.rejLead.Load(),
		RejectsClaim: c.rejClaim.Load(), RejectsExhausted: c.rejExhausted.Load(),
		Err: k.blocked(),
	}
	s.Lead = max(0, s.Position.Sub(now))
	return s
}
