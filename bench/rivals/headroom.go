package rivals

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// Headroom is a lane whose callers add instead of comparing and swapping: an add never fails, however many callers
// there are. The word has room above the run's length for those who come too late:
//
//	 63                        28 27          8 7          0
//	+----------------------------+-------------+------------+
//	|  run number (position/256) |  headroom   |   offset   |
//	+----------------------------+-------------+------------+
//
// Whoever finds a zero headroom after the add owns that offset of that run. Whoever finds another value came too late,
// takes the lock and installs the next run, or waits for whoever does. 2^20 callers would have to be late at once to
// carry into the run number; each of them tries once and then waits for the lock.
//
// It is the bare idea behind uid's lanes, kept to show what they cost on top: a tick that may be relative to a base,
// expiry, genes, claims with an end.
type Headroom struct {
	composer
	_    cpu.CacheLinePad
	lane atomic.Uint64
	_    cpu.CacheLinePad
	mu   sync.Mutex // held while a run is installed
	run  int64      // the next run's number
	follower
}

const (
	offsetBits   = 8 // runLength
	headroomBits = 20
	runShift     = offsetBits + headroomBits
)

// NewHeadroom returns a Headroom that stamps ids with worker. It starts a goroutine, which Close ends.
func NewHeadroom(worker int64) *Headroom {
	h := &Headroom{composer: newComposer(worker), run: present() >> offsetBits}
	h.install()
	h.follow(200*time.Millisecond, nil, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		// The next run, not the lane: what is left of the present one is at most 256 ids old.
		h.run = max(h.run, present()>>offsetBits)
	})
	return h
}

// install puts the next run into the lane. It is called under mu, or before the Headroom is shared.
func (h *Headroom) install() {
	h.lane.Store(uint64(h.run) << runShift)
	h.run++
}

// Next returns an id.
func (h *Headroom) Next() int64 {
	for {
		w := h.lane.Add(1) - 1
		if w>>offsetBits&(1<<headroomBits-1) == 0 {
			return h.id(int64(w>>runShift<<offsetBits | w&(runLength-1)))
		}
		h.mu.Lock()
		if h.lane.Load()>>offsetBits&(1<<headroomBits-1) != 0 {
			h.install()
		}
		h.mu.Unlock()
		runtime.Gosched()
	}
}
