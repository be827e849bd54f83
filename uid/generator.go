// Package uid makes unique, time-ordered 63-bit ids inside the process that needs them.
//
// Cached is the generator to use: ids are composed ahead of demand and handed out for about one atomic instruction each.
// Default asks the clock for every id; it is the yardstick, and the home of the snowflake family.
package uid

import (
	"context"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/ringbuffer"
)

// Generator is what Cached and Default have in common. All methods are safe for concurrent use.
type Generator interface {
	// Next returns an id that no other call, on any generator with a disjoint claim, ever returns. It reads ctx only
	// when it has to wait.
	Next(ctx context.Context) (ID, error)

	// Fill sets every element of ids to an id of its own and returns how many it set: len(ids), or fewer together with
	// the error that stopped it. The ids ids[:n] are valid either way.
	Fill(ctx context.Context, ids []ID) (n int, err error)

	// NextGene is Next for a Layout with GeneBits: the id's low GeneBits bits are the low bits of key. Without GeneBits it
	// fails with ErrNoGene.
	NextGene(ctx context.Context, key int64) (ID, error)

	// Parse takes an id of this generator's layout apart.
	Parse(ID) Parts

	// Stats returns a snapshot. It takes no lock that Next takes.
	Stats() Stats

	// Close stops the generator, gives the unused rest of its claim back and waits for its goroutines. Calls from then on
	// fail with ErrClosed. Closing twice does nothing.
	Close() error
}

// PutPolicy says what the padder does with a full ring, TakePolicy what a caller gets from an empty one.
type (
	PutPolicy  = ringbuffer.PutPolicy
	TakePolicy = ringbuffer.TakePolicy
)

// The policies. Discard and Pad are the zero values and the defaults.
const (
	Discard = ringbuffer.Discard // put on full: leave it for the next padding run
	Fail    = ringbuffer.Fail    // put on full: count and log it

	Pad    = ringbuffer.Pad    // take on empty: the caller fills the ring
	Wait   = ringbuffer.Wait   // take on empty: wait for the padder
	Reject = ringbuffer.Reject // take on empty: fail with ErrEmpty or ErrLead
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

	Err error // why no further id can be composed at present; nil when all is well
}
