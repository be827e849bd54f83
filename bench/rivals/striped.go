package rivals

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// Striped keeps a block of ids per stripe, each under a mutex of its own, and cuts new blocks from one shared position.
// Which stripe a caller gets is a hash of its stack's address, as with the lanes of uid.Cached.
//
// It keeps every promise that many lanes keep. It pays for a lock and an unlock where a lane pays for one
// compare-and-swap, and a caller that loses the processor while it holds a stripe holds up all who hash to it.
type Striped struct {
	composer
	stripes []stripe // a power of two
	_       cpu.CacheLinePad
	word    atomic.Int64 // the first position that belongs to no block
	_       cpu.CacheLinePad
	follower
}

type stripe struct {
	mu        sync.Mutex
	next, end int64
	_         cpu.CacheLinePad
}

// NewStriped returns a Striped that stamps ids with worker. It starts a goroutine, which Close ends.
func NewStriped(worker int64) *Striped {
	n := 1 << bits.Len(uint(runtime.GOMAXPROCS(0)*8-1))
	s := &Striped{composer: newComposer(worker), stripes: make([]stripe, n)}
	s.word.Store(present())
	s.follow(200*time.Millisecond, nil, s.step)
	return s
}

// step follows the clock and drops the blocks that it has passed.
func (s *Striped) step() {
	now := present()
	if behind := now - s.word.Load(); behind > 0 {
		s.word.Add(behind)
	}
	for i := range s.stripes {
		st := &s.stripes[i]
		st.mu.Lock()
		if st.next < now-perTick {
			st.next = st.end
		}
		st.mu.Unlock()
	}
}

// Next returns an id.
func (s *Striped) Next() int64 {
	st := &s.stripes[stackHash()&(len(s.stripes)-1)]
	st.mu.Lock()
	if st.next == st.end {
		st.end = s.word.Add(runLength)
		st.next = st.end - runLength
	}
	pos := st.next
	st.next++
	st.mu.Unlock()
	return s.id(pos)
}

// stackHash returns a number that differs between goroutines and costs no look-up: goroutines have stacks of their own.
// Only the address of a local is used, as a number; it is never turned back into a pointer.
func stackHash() int {
	var here byte
	const golden = 0x9e3779b97f4a7c15
	return int(uint64(uintptr(unsafe.Pointer(&here))>>10) * golden >> 33)
}
