package ringbuffer

import (
	"context"
	"fmt"
)

// DefaultPaddingFactor is the PaddingFactor of Options that do not set one.
const DefaultPaddingFactor = 50

// Options says what a Ring does at its edges: full, empty, and low. The zero value is ready to use. The functions are
// called on the goroutine of whoever met the edge, never under a lock of the ring, and possibly by many goroutines at
// once. Each may call any method of the ring.
type Options struct {
	// PutPolicy is what Put does when the ring is full; Discard by default. PutFunc, when not nil, takes its place: it is
	// called once for each uid that found no room, and its result is Put's result.
	PutPolicy PutPolicy
	PutFunc   func(r *Ring, uid int64) error

	// TakePolicy is what Take does when the ring is empty; Pad by default. TakeFunc, when not nil, takes its place: an error
	// is Take's error, nil means "try again", and Take calls it until it gets a uid, an error, or the end of ctx.
	TakePolicy TakePolicy
	TakeFunc   func(ctx context.Context, r *Ring) error

	// Pad puts uids into the ring for the TakePolicy Pad. An error is Take's error. When it returns nil and nobody has put
	// anything since it was called, Take returns ErrEmpty. Without it the policy Pad has nothing to call and acts as Reject.
	Pad func(ctx context.Context, r *Ring) error

	// PaddingFactor is the threshold of Low and OnLow in percent of the ring's capacity, from 1 to 100. 0 means
	// DefaultPaddingFactor.
	PaddingFactor int

	// OnLow, when not nil, is called when less than PaddingFactor percent are left: once, by the take that left so few, and not
	// again until puts have filled the ring to the threshold. It is called on the way down only, so that a producer that
	// waits for it must first have seen Low report false, or the ring full, after its last put; then it misses
	// nothing. OnLow should do no more than wake the producer, because a take waits for it.
	OnLow func()

	_ struct{}
}

// withDefaults returns a copy of o, or of the zero value for nil, with its defaults filled in and its bounds checked.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	if c.PaddingFactor == 0 {
		c.PaddingFactor = DefaultPaddingFactor
	}
	switch {
	case c.PutPolicy > Fail:
		return c, fmt.Errorf("ringbuffer: PutPolicy %d is none of Discard (%d) and Fail (%d)", c.PutPolicy, Discard, Fail)
	case c.TakePolicy > Reject:
		return c, fmt.Errorf("ringbuffer: TakePolicy %d is none of Pad (%d), Wait (%d) and Reject (%d)", c.TakePolicy, Pad, Wait, Reject)
	case c.PaddingFactor < 1 || c.PaddingFactor > 100:
		return c, fmt.Errorf("ringbuffer: PaddingFactor %d is not in 1..100 percent", c.PaddingFactor)
	}
	return c, nil
}
