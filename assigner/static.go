package assigner

import (
	"context"
	"fmt"
	"time"
)

// Static returns an Assigner that always hands out the same worker id, for all of time. That no other generator, and no
// earlier run of this one, stamps ids with it is the caller's to guarantee: see docs/design.md. It does no I/O.
func Static(worker int64) Assigner { return static(worker) }

type static int64

func (s static) Assign(ctx context.Context, maxWorker int64) (Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("assigner: static: %w", err)
	}
	if s < 0 || int64(s) > maxWorker {
		return nil, fmt.Errorf("%w: static worker id is %d, want 0..%d", ErrWorkersExhausted, int64(s), maxWorker)
	}
	return staticClaim(s), nil
}

type staticClaim int64

func (c staticClaim) Worker() int64                                        { return int64(c) }
func (c staticClaim) Window() (from, until time.Time)                      { return time.Time{}, time.Time{} }
func (c staticClaim) Extend(context.Context, time.Time) (time.Time, error) { return time.Time{}, nil }
func (c staticClaim) Release(context.Context, time.Time) error             { return nil }
