package compat

import (
	"fmt"

	"github.com/uidring/uidring/bitsalloc"
)

// Sites divides a worker field into a data centre, the high bits, and a worker within it, the low
// bits:
//
//	+-------------+-------------------------+
//	| data centre |         worker          |
//	+-------------+-------------------------+
//	  centre bits   WorkerBits - centre bits
//
// It is a value without state. NewSites makes it.
type Sites struct {
	workerBits           uint8
	maxCenter, maxWorker int64
}

// NewSites divides the worker field of l, giving the data centre its high centerBits: 5 of 10 in
// Twitter's layout and in ShardGene, where the originals have 5 and 5. KeyWorker's two are process
// and machine. It fails with bitsalloc.ErrLayout when l is
// invalid or the worker field has fewer bits than that.
func NewSites(l bitsalloc.Layout, centerBits int) (Sites, error) {
	a, err := bitsalloc.New(l)
	if err != nil {
		return Sites{}, err
	}
	workerBits := a.Layout().WorkerBits - centerBits
	if centerBits < 0 || workerBits < 0 {
		return Sites{}, fmt.Errorf("%w: data centre bits are %d, want 0..%d, the worker "+
			"field's width",
			bitsalloc.ErrLayout, centerBits, a.Layout().WorkerBits)
	}
	return Sites{uint8(workerBits), 1<<centerBits - 1, 1<<workerBits - 1}, nil
}

// Join returns the worker id of a worker in a data centre, for Compose or an assigner. An error
// wraps bitsalloc.ErrRange and names the one that does not fit.
func (s Sites) Join(center, worker int64) (int64, error) {
	if worker < 0 || worker > s.maxWorker {
		return 0, fmt.Errorf("%w: worker is %d, want 0..%d", bitsalloc.ErrRange, worker,
			s.maxWorker)
	}
	if center < 0 || center > s.maxCenter {
		return 0, fmt.Errorf("%w: data centre is %d, want 0..%d", bitsalloc.ErrRange, center,
			s.maxCenter)
	}
	return center<<s.workerBits | worker, nil
}

// Split is the inverse of Join for a worker id as Allocator.Split returns it. Bits above the field
// are ignored.
func (s Sites) Split(id int64) (center, worker int64) {
	return id >> s.workerBits & s.maxCenter, id & s.maxWorker
}
