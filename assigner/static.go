package assigner

import "fmt"

// Static returns an Assigner that always hands out the same worker id, for all of time. The caller
// must ensure that no other process, and no earlier run of this one, stamps ids with it: see
// docs/workers.md. It does no I/O.
//
// A second claim on the same worker id and layout in one process is an error that wraps
// ErrWorkersExhausted, until the first one is released, which closing its generator does.
func Static(worker int64) Assigner {
	a := newLocal("static", func(maxWorker int64) (int64, error) {
		if worker < 0 || worker > maxWorker {
			return 0, fmt.Errorf("%w: static worker id is %d, want 0..%d", ErrWorkersExhausted,
				worker, maxWorker)
		}
		return worker, nil
	}, nil)
	a.forever = true
	return a
}
