package rivals

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Pool keeps a run per processor in a sync.Pool and cuts new runs from one shared position.
//
// A run in a pool cannot be looked at from outside, so a stale one cannot be dropped: an id handed
// out may have been stamped long ago, and MaxLag cannot be kept without asking the clock for each
// id. The garbage collector drops pooled runs at its own times, and their ids with them.
type Pool struct {
	composer
	_    cpu.CacheLinePad
	word atomic.Int64 // the first position that belongs to no run
	_    cpu.CacheLinePad
	runs sync.Pool
	follower
}

// run is the half-open stretch [next, end) of positions. The goroutine that took it out of the pool
// owns it.
type run struct {
	next, end int64
	_         cpu.CacheLinePad
}

// NewPool returns a Pool that stamps ids with worker. It starts a goroutine, which Close ends.
func NewPool(worker int64) *Pool {
	p := &Pool{composer: newComposer(worker)}
	p.word.Store(present())
	p.runs.New = func() any { return new(run) }
	p.follow(200*time.Millisecond, nil, func() {
		if behind := present() - p.word.Load(); behind > 0 {
			p.word.Add(behind)
		}
	})
	return p
}

// Next returns an id.
func (p *Pool) Next() int64 {
	r := p.runs.Get().(*run) //nolint:errcheck // the pool has nothing else
	if r.next == r.end {
		r.end = p.word.Add(runLength)
		r.next = r.end - runLength
	}
	pos := r.next
	r.next++
	p.runs.Put(r)
	return p.id(pos)
}
