package ringbuffer

import (
	"context"
	"fmt"
)

// Options says what a Ring does at its edges. The zero value is ready to use. The functions run on
// the goroutine of the caller that met the edge, never under a lock of the ring, and possibly on
// many goroutines at once. Each may call any method of the ring.
type Options struct {
	// PutPolicy is what Put does when the ring is full. Default: PutDiscard.
	PutPolicy PutPolicy

	// PutFunc, when not nil, replaces PutPolicy. It is called once for each uid that finds no room,
	// and its result is Put's result.
	PutFunc func(r *Ring, uid int64) error

	// TakePolicy is what Take does when the ring is empty. Default: TakeReject.
	TakePolicy TakePolicy

	// TakeFunc, when not nil, replaces TakePolicy. An error is Take's error. After nil, Take tries
	// again, and calls TakeFunc again if the ring is still empty, until ctx ends. A TakeFunc that
	// puts uids into the ring lets the caller pad it.
	TakeFunc func(ctx context.Context, r *Ring) error

	_ struct{} // keeps literals keyed
}

// withDefaults returns a copy of o, or of the zero value for nil, after checking its bounds.
func (o *Options) withDefaults() (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	switch {
	case c.PutPolicy > PutFail:
		return c, fmt.Errorf("ringbuffer: PutPolicy is %d, want PutDiscard (%d) or PutFail (%d)",
			c.PutPolicy, PutDiscard, PutFail)
	case c.TakePolicy > TakeWait:
		return c, fmt.Errorf("ringbuffer: TakePolicy is %d, want TakeReject (%d) or TakeWait (%d)",
			c.TakePolicy, TakeReject, TakeWait)
	}
	return c, nil
}
