package compat

import (
	"fmt"

	"github.com/uidring/uidring/bitsalloc"
)

// Worker returns the worker id of a worker in a data centre, of 5 bits each, as Twitter, hutool and
// ShardGene have them; KeyWorker's two are process and machine. The data centre is id>>5, and the
// worker id&31. An error wraps bitsalloc.ErrRange and names the one that is not 0 to 31.
func Worker(center, worker int64) (int64, error) {
	if worker < 0 || worker > 31 {
		return 0, fmt.Errorf("%w: worker is %d, want 0..31", bitsalloc.ErrRange, worker)
	}
	if center < 0 || center > 31 {
		return 0, fmt.Errorf("%w: data centre is %d, want 0..31", bitsalloc.ErrRange, center)
	}
	return center<<5 | worker, nil
}
