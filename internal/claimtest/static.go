package claimtest

import (
	"context"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
)

// Static returns an Assigner that always hands out the same worker id, for all of time. Unlike
// assigner.Static it lets any number of claims be open at once, so that tests which make generators
// in parallel need not share out worker ids.
func Static(worker int64) assigner.Assigner { return static(worker) }

// static is the Assigner and its claim.
type static int64

func (s static) Assign(ctx context.Context, maxWorker int64) (assigner.Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s < 0 || int64(s) > maxWorker {
		return nil, fmt.Errorf("%w: worker id is %d, want 0..%d", assigner.ErrWorkersExhausted, s,
			maxWorker)
	}
	return s, nil
}

func (s static) Worker() int64                   { return int64(s) }
func (s static) Window() (from, until time.Time) { return from, until }

func (s static) Extend(context.Context, time.Time) (time.Time, error) { return time.Time{}, nil }
func (s static) Release(context.Context, time.Time) error             { return nil }
