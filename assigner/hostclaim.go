package assigner

import (
	"context"
	"time"
)

// sinceClaim is the claim of Host, StatefulSet and Env: a worker id from an instant on, without end.
//
// The instant is that of Assign. Generators stamp only ticks that lie wholly inside the window, so the tick that is
// running at Assign is left alone: it may be the one in which an earlier run with the same worker id stamped its last id.
type sinceClaim struct {
	worker int64
	from   time.Time
}

func newSinceClaim(worker int64) sinceClaim {
	// Round(0) drops the monotonic reading: the window is a stretch of wall time.
	return sinceClaim{worker: worker, from: time.Now().UTC().Round(0)}
}

func (c sinceClaim) Worker() int64                                        { return c.worker }
func (c sinceClaim) Window() (from, until time.Time)                      { return c.from, time.Time{} }
func (c sinceClaim) Extend(context.Context, time.Time) (time.Time, error) { return time.Time{}, nil }
func (c sinceClaim) Release(context.Context, time.Time) error             { return nil }
