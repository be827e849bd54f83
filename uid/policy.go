package uid

import "github.com/uidring/uidring/ringbuffer"

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
