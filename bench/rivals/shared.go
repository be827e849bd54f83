package rivals

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Shared is one position word that callers advance by an atomic add, under a limit that the padder
// moves: no ring, no runs, no lanes.
//
// It is the least that a shared counter can be, and gives up two promises. The add comes before the
// test, so a caller owns a position beyond the limit: the position is lost, or the caller waits for
// the limit to move. A limit that is a claim's end cannot be reported as an error without losing
// ids. And there is no second word to spread over, so it does not grow with the processors.
type Shared struct {
	composer
	_     cpu.CacheLinePad
	word  atomic.Int64 // the last position handed out
	_     cpu.CacheLinePad
	limit atomic.Int64 // the first position that may not be handed out; only grows
	_     cpu.CacheLinePad
	mu    sync.Mutex // held while limit is moved
	follower
}

// sharedAhead is how many positions the limit is ahead of the word.
const sharedAhead = perTick << 10

// NewShared returns a Shared that stamps ids with worker. It starts a goroutine, which Close ends.
func NewShared(worker int64) *Shared {
	s := &Shared{composer: newComposer(worker)}
	s.word.Store(present())
	s.limit.Store(s.word.Load() + sharedAhead)
	s.follow(200*time.Millisecond, nil, s.step)
	return s
}

// step follows the clock: the word jumps forward, by an add, so that no position is handed out
// twice.
func (s *Shared) step() {
	if behind := present() - s.word.Load(); behind > 0 {
		s.word.Add(behind)
	}
	s.extend(s.word.Load())
}

// extend moves the limit beyond pos.
func (s *Shared) extend(pos int64) {
	s.mu.Lock()
	if pos+sharedAhead/2 > s.limit.Load() {
		s.limit.Store(pos + sharedAhead)
	}
	s.mu.Unlock()
}

// Next returns an id.
func (s *Shared) Next() int64 {
	pos := s.word.Add(1)
	if pos >= s.limit.Load() {
		s.extend(pos)
	}
	return s.id(pos)
}
