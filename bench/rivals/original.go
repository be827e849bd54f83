package rivals

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"
)

// ErrNotTakeable is what a caller of Original gets whose slot another caller has emptied: the
// original's "not in can take status" error.
var ErrNotTakeable = errors.New("rivals: slot not in can-take state")

// ErrOriginalEmpty is what a caller of Original gets from a ring that it believes to be empty.
var ErrOriginalEmpty = errors.New("rivals: ring is empty")

// Original is the ring of Baidu's UidGenerator as its description reads: a slot and a flag per id,
// a tail that the producer moves, a cursor that takers move, and a producer that puts whole
// seconds, each the last plus one.
//
// It keeps the original's flaw and is here to show it: a taker reads the cursor, then moves it
// unless it has reached the tail, and compares the two readings to learn whether the ring was
// empty. When other takers move the cursor to the tail in between, the taker reads a slot that is
// not its own. It gets an error if the slot's owner has emptied the slot, and the owner's id if
// not.
type Original struct {
	composer
	slots []int64
	flags []flag
	_     cpu.CacheLinePad
	tail  atomic.Int64 // the last slot put
	_     cpu.CacheLinePad
	cur   atomic.Int64 // the last slot taken
	_     cpu.CacheLinePad
	tick  int64 // the last tick put; guarded by mu
	wake  chan struct{}
	mu    sync.Mutex // held while putting
	follower
}

// flag is one slot's state on a cache line of its own.
type flag struct {
	v atomic.Int32
	_ [60]byte
}

const (
	canPut  = 0
	canTake = 1

	originalSize = perTick << 3 // boostPower 3
)

// NewOriginal returns an Original that stamps ids with worker. It starts a goroutine, which Close
// ends.
func NewOriginal(worker int64) *Original {
	o := &Original{
		composer: newComposer(worker),
		slots:    make([]int64, originalSize),
		flags:    make([]flag, originalSize),
		tick:     present() >> seqBits,
		wake:     make(chan struct{}, 1),
	}
	o.tail.Store(-1)
	o.cur.Store(-1)
	o.pad()
	o.follow(time.Minute, o.wake, o.pad)
	return o
}

// pad puts whole ticks until one does not fit. What is left of that tick is thrown away, as the
// original does.
func (o *Original) pad() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		o.tick++
		for seq := range int64(perTick) {
			if !o.put(o.id(o.tick<<seqBits | seq)) {
				return
			}
		}
	}
}

// put stores id in the next slot, unless the ring is full or the slot has not been emptied.
func (o *Original) put(id int64) bool {
	tail := o.tail.Load()
	if tail-max(o.cur.Load(), 0) == originalSize-1 {
		return false
	}
	i := (tail + 1) & (originalSize - 1)
	if o.flags[i].v.Load() != canPut {
		return false
	}
	atomic.StoreInt64(&o.slots[i], id)
	o.flags[i].v.Store(canTake)
	o.tail.Add(1)
	return true
}

// Next returns an id, or one of the two errors.
func (o *Original) Next() (int64, error) {
	before := o.cur.Load()
	var after int64
	for {
		c := o.cur.Load()
		if after = c; c == o.tail.Load() {
			break
		}
		if o.cur.CompareAndSwap(c, c+1) {
			after = c + 1
			break
		}
	}
	if o.tail.Load()-after < originalSize/2 {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	if after == before {
		return 0, ErrOriginalEmpty
	}
	i := after & (originalSize - 1)
	if o.flags[i].v.Load() != canTake {
		return 0, ErrNotTakeable
	}
	id := atomic.LoadInt64(&o.slots[i])
	o.flags[i].v.Store(canPut)
	return id, nil
}
