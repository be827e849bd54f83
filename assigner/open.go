package assigner

import (
	"context"
	"time"
)

// openClaim is a worker id from an instant on, without end.
type openClaim struct {
	worker  int64
	from    time.Time // zero: the beginning of time
	release func()    // nil: nothing to do
}

func (c openClaim) Worker() int64                   { return c.worker }
func (c openClaim) Window() (from, until time.Time) { return c.from, until }

// Extend changes nothing: there is no end to move.
func (c openClaim) Extend(context.Context, time.Time) (time.Time, error) { return time.Time{}, nil }

func (c openClaim) Release(context.Context, time.Time) error {
	if c.release != nil {
		c.release()
	}
	return nil
}
