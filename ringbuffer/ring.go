package ringbuffer

import (
	"context"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// maxSize bounds a size: 2^26 slots are 4.5 GiB, and an int may have 32 bits.
const maxSize = 1 << (22 + 4*(bits.UintSize/64))

// Ring is a bounded queue of uids. Puts are serialised by a mutex, takes are lock-free, and every
// method is safe for concurrent use by any number of goroutines. A Ring starts no goroutine and
// needs no Close. New makes a Ring; the zero value is not usable. A Ring must not be copied.
//
// # Words and owners
//
// The n-th uid ever put has the position n, counted from 0. Position p lives in slot p mod size, so
// a slot is used once a lap. Two positions divide the laps among three owners:
//
//	            cursor                          tail
//	              │ newest uid taken              │ newest uid put
//	──────────────▼───────────────────────────────▼──────────────────────►  positions
//	  free:       │ cursor+1                 tail │ tail+1
//	  producer    │ full: takers                  │ free: producer, up to cursor+size
//
//	slot      0     1     2     3     4     5     6     7        size 8, cursor 9, tail 13
//	uids   [ u8 ][ u9 ][u10 ][u11 ][u12 ][u13 ][ u6 ][ u7 ]
//	flags  [  8 ][  9 ][ 10 ][ 11 ][ 12 ][ 13 ][  6 ][  7 ]  each flag: its slot's position
//	         free  free  full  full  full  full  free  free
//
// A slot is handed over by one store or swap of these words:
//
//   - flags[p mod size] holds the position that its slot was last filled with. Only the producer
//     writes it, and the only transition is p to p+size. Storing p hands the slot to the takers.
//   - cursor is the position of the newest uid taken. Only a taker's compare-and-swap moves it, and
//     only forward. The swap from c to c+n hands the uids of c+1..c+n to that taker and their slots
//     back to the producer, in one instruction.
//   - tail is the position of the newest uid put. Only the producer, which holds putMu, moves it,
//     and only forward. Puts store it after the flags, so every position up to it is full or taken.
//     No take depends on it alone.
//   - uids[p mod size] is written by the producer while cursor >= p-size, that is, after the slot
//     was handed back. Takers read it before they own it, hence it is atomic. What they read is
//     valid if their swap succeeds.
//
// A flag carries the whole position, not a bit for full and empty. An index that went stale while a
// lap passed finds a flag that does not match and is never mistaken for its successor a lap later.
//
// Takers write no flag and no slot. A taker that stalls at any instruction holds nothing: neither
// the producer nor other takers wait for it.
//
// # Overflow
//
// Positions have 64 bits. At 10^9 puts a second it takes 292 years to get from -1 to the largest of
// them. The ring would run on even then: positions are only tested for equality or compared by
// their difference, which stays within one lap, and size divides 2^64, so slots follow one another
// across the wrap too. Only Tail and Cursor would turn negative.
type Ring struct {
	_ padding

	// Read-only after New.
	uids       []atomic.Int64
	flags      []flag
	mask       int64 // size-1
	size       int64
	putPolicy  PutPolicy
	takePolicy TakePolicy
	putFunc    func(r *Ring, uid int64) error
	takeFunc   func(ctx context.Context, r *Ring) error
	wake       chan struct{} // holds the token of takeByWait

	_ padding

	// Loaded once by every put. Takers with TakeWait change it when they begin or end to wait.
	waiters atomic.Int64

	_ padding

	// One swap for each take.
	cursor atomic.Int64

	_ padding

	// Producer. A put holds putMu. Nothing waits, panics or calls a user function while it is held.
	putMu  sync.Mutex
	tail   atomic.Int64 // written under putMu
	passed int64        // guarded by putMu: an earlier cursor, which saves loading the takers' line

	_ padding
}

// padding keeps the words on its two sides two cache lines apart. One line keeps them from sharing
// it. The second is for processors that fetch lines in pairs.
type padding struct{ _, _ cpu.CacheLinePad }

// flag is the flag of one slot, alone on its cache line: the producer that writes the next flag
// does not disturb takers that read this one.
type flag struct {
	pos atomic.Int64
	_   [max(unsafe.Sizeof(cpu.CacheLinePad{}), 8) - 8]byte
}

// New returns an empty ring of size slots, a power of two in 1..2^26, or 2^22 where an int has 32
// bits. nil options mean the zero Options. A slot takes 8 bytes for its uid and a cache line (64
// bytes on amd64) for its flag. Nothing else in this package allocates.
func New(size int, opts *Options) (*Ring, error) {
	if size < 1 || size > maxSize || size&(size-1) != 0 {
		return nil, fmt.Errorf("ringbuffer: size is %d, want a power of two in 1..%d",
			size, maxSize)
	}
	o, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Ring{
		uids:       make([]atomic.Int64, size),
		flags:      make([]flag, size),
		mask:       int64(size) - 1,
		size:       int64(size),
		putPolicy:  o.PutPolicy,
		takePolicy: o.TakePolicy,
		putFunc:    o.PutFunc,
		takeFunc:   o.TakeFunc,
		wake:       make(chan struct{}, 1),
	}
	r.start(-1)
	return r, nil
}

// start makes the ring empty at the position last: the next uid put has the position last+1. Each
// flag holds the position of the lap before, which is taken.
func (r *Ring) start(last int64) {
	for p := last + 1 - r.size; p != last+1; p++ {
		r.flags[p&r.mask].pos.Store(p)
	}
	r.cursor.Store(last)
	r.tail.Store(last)
	r.passed = last
}

// Cap returns the ring's size.
func (r *Ring) Cap() int { return int(r.size) }

// Len returns how many uids are in the ring. It is a snapshot, always in 0..Cap: concurrent puts
// and takes may change the number before Len returns.
func (r *Ring) Len() int { return int(r.length()) }

// length loads the cursor before the tail.
func (r *Ring) length() int64 { return r.lengthFrom(r.cursor.Load()) }

// lengthFrom is the length for a cursor that was loaded earlier. A take may get a uid whose put has
// stored the flag and not the tail yet, so c may be past the tail; and whole laps may have passed
// since c was loaded.
func (r *Ring) lengthFrom(c int64) int64 { return min(max(r.tail.Load()-c, 0), r.size) }

// Oldest returns the uid that the next take gets, and whether there is one. It is a snapshot:
// concurrent takes may get that uid before Oldest returns.
func (r *Ring) Oldest() (uid int64, ok bool) {
	for {
		c := r.cursor.Load()
		uid, ahead := r.peek(c)
		switch {
		case ahead < 0:
			return 0, false
		case ahead == 0 && r.cursor.Load() == c: // the slot was not refilled meanwhile
			return uid, true
		}
	}
}

// Tail returns the position of the newest uid put, -1 before the first put. It never decreases.
func (r *Ring) Tail() int64 { return r.tail.Load() }

// Cursor returns the position of the newest uid taken, -1 before the first take. It never
// decreases.
func (r *Ring) Cursor() int64 { return r.cursor.Load() }
