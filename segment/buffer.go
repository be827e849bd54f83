package segment

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// buffer is a range in use. The word next hands out its ids: it is the position of the first free
// id, counted from 0.
//
//	0                     next                  len
//	├──────────────────────┼─────────────────────┤
//	│      handed out      │        free         │
//	└──────────────────────┴─────────────────────┘
//
// # Owners
//
// A buffer is open or held. While it is open, any caller may add. A caller whose add moves next
// from p to p+n owns the positions p to p+n-1 that lie below len. An add that begins at len or
// above finds nothing; what it leaves in next has no meaning.
//
// hold swaps held, a value far above len, into next. The free positions then belong to the caller
// of hold, and adds find nothing. release opens the buffer again: it stores the first position that
// is still free. Both are called under Tag.mu, and release only after hold. A new buffer is held.
//
//	        add: next < len              add: next >= len
//	       ┌──────────────┐             ┌──────────────┐
//	       ▼              │  last id    ▼              │
//	[ open: ids left      ]──────────►[ used up, or held ]
//	       ▲   └──────────── hold: Swap ─────────▲  │
//	       └──────────────── release: Store ────────┘
//
// # Why no id is handed out twice
//
// Each buffer has its own next, so the argument needs no property of the range: ranges of a tag
// need not rise, and a caller that is delayed with an old buffer adds to the old word. While the
// buffer is open, only adds move next, and no two of them return the same position. No add has
// returned the position that hold returns or one above it. What release stores lies above every
// position that was handed out since hold. A buffer that was replaced is used up or held, and is
// never released again.
//
// # Overflow
//
// next overflows after 2^62 failed adds. At 10^9 a second that takes 146 years. A buffer is
// replaced long before that, because a caller that finds nothing waits.
type buffer struct {
	// Read-only. Kept off the cache line of next, which every add takes from the other processors.
	len    int64 // the number of ids
	mark   int64 // the caller that takes this position starts the next fetch; below len
	stride int64
	r      Range

	_    cpu.CacheLinePad
	next atomic.Int64
	_    cpu.CacheLinePad
}

// held is the value of next while adds must find nothing: far above every length, which is 2^31 at
// the most, and as far below the overflow, so that failed adds reach neither.
const held = int64(1) << 62

// newBuffer returns a held buffer of r, which is empty or valid. The mark is the position at which
// percent of the ids are used, rounded up; it is never before the first id. An empty range gives a
// buffer of length 0 in which no add finds anything. The buffer belongs to its maker until Tag.cur
// publishes it.
func newBuffer(r Range, percent int) *buffer {
	n, p := r.Len(), int64(percent)
	used := n/100*p + (n%100*p+99)/100 // rounded up, without n*p, which may overflow
	b := &buffer{len: n, mark: max(used, 1) - 1, stride: r.stride(), r: r}
	b.next.Store(held)
	return b
}

// id returns the id at position p, which lies in 0..len-1. It does not overflow: the last id lies
// below Range.To.
func (b *buffer) id(p int64) int64 { return b.r.From + p*b.stride }

// take claims up to n ids. It returns the position of the first and their number, which is 0 if the
// buffer is used up or held. Any goroutine may call it. n is cut to the length first, so that one
// large Fill cannot bring next near its overflow.
func (b *buffer) take(n int64) (p, got int64) {
	if b.next.Load() >= b.len {
		return 0, 0 // without an add, so that repeated calls cannot overflow next
	}
	n = min(n, b.len)
	p = b.next.Add(n) - n
	return p, max(min(n, b.len-p), 0)
}

// hold takes all free ids away from the callers. It returns the position of the first, or len if
// there is none.
func (b *buffer) hold() int64 { return min(b.next.Swap(held), b.len) }

// release opens the buffer: the ids from position p on are free.
func (b *buffer) release(p int64) { b.next.Store(p) }

// free returns the number of ids that adds can still take: 0 while the buffer is held, whatever is
// left in it. It is a snapshot, unless the buffer is held.
func (b *buffer) free() int64 { return max(b.len-b.next.Load(), 0) }
