package assigner

import (
	"context"
	"fmt"
)

// Static returns an Assigner that always hands out the same worker id, for all of time. The caller
// must ensure that no other process, and no earlier run of this one, stamps ids with it: see
// docs/workers.md. It does no I/O.
//
// A second claim on the same worker id and layout in one process is an error that wraps
// ErrWorkersExhausted, until the first one is released, which closing its generator does.
func Static(worker int64) Assigner { return static{worker: worker, open: &opened} }

// static is the Assigner of Static. It is a value that BindLayout copies, and safe for concurrent
// use.
type static struct {
	worker int64
	layout string
	open   *holders
}

// BindLayout returns an Assigner for ids of one layout.
func (s static) BindLayout(layout string) Assigner {
	s.layout = layout
	return s
}

// Assign checks the range and that no open claim of this process has the worker id. It does not
// block.
func (s static) Assign(ctx context.Context, maxWorker int64) (Claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("assigner: static: %w", err)
	}
	if s.worker < 0 || s.worker > maxWorker {
		return nil, fmt.Errorf("%w: static worker id is %d, want 0..%d", ErrWorkersExhausted,
			s.worker, maxWorker)
	}
	release, err := s.open.hold(s.layout, s.worker)
	if err != nil {
		return nil, err
	}
	return openClaim{worker: s.worker, release: release}, nil
}
