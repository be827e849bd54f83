package bitsalloc

import "fmt"

// Sites divides a worker field into a data centre, the high bits, and a worker within it, the low bits:
//
//	+-------------+-------------------------+
//	| data centre |         worker          |
//	+-------------+-------------------------+
//	  centre bits   WorkerBits - centre bits
//
// It is a value without state; Layout.Sites makes it.
type Sites struct {
	workerBits           uint8
	maxCenter, maxWorker int64
}

// Sites divides the worker field of l, giving the data centre its high centerBits: 5 of 10 in Twitter, Hutool and
// ShardGene, where the originals have 5 and 5, and in KeyWorker, where the two are process and machine. It fails with
// ErrLayout when l is invalid or the worker field has fewer bits than that.
func (l Layout) Sites(centerBits int) (Sites, error) {
	l = l.withDefaults()
	if err := l.validate(); err != nil {
		return Sites{}, err
	}
	if centerBits < 0 || centerBits > l.WorkerBits {
		return Sites{}, fmt.Errorf("%w: data centre bits are %d, want 0..%d, the worker field's width", ErrLayout, centerBits, l.WorkerBits)
	}
	workerBits := l.WorkerBits - centerBits
	return Sites{workerBits: uint8(workerBits), maxCenter: 1<<centerBits - 1, maxWorker: 1<<workerBits - 1}, nil
}

// Join returns the worker id of a worker in a data centre, for Compose or an assigner, or an error that wraps ErrRange
// and names the one that does not fit.
func (s Sites) Join(center, worker int64) (int64, error) {
	if worker < 0 || worker > s.maxWorker {
		return 0, fmt.Errorf("%w: worker is %d, want 0..%d", ErrRange, worker, s.maxWorker)
	}
	if center < 0 || center > s.maxCenter {
		return 0, fmt.Errorf("%w: data centre is %d, want 0..%d", ErrRange, center, s.maxCenter)
	}
	return center<<s.workerBits | worker, nil
}

// Split is the inverse of Join for a worker id as Allocator.Split returns it. Bits above the field are ignored.
func (s Sites) Split(id int64) (center, worker int64) {
	return id >> s.workerBits & s.maxCenter, id & s.maxWorker
}

// MaxCenter returns the highest data centre.
func (s Sites) MaxCenter() int64 { return s.maxCenter }

// MaxWorker returns the highest worker within a data centre.
func (s Sites) MaxWorker() int64 { return s.maxWorker }
