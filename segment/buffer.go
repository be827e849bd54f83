package segment

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// buffer is a range that is handed out by one word, next: the position of the first free id, from
// 0.
//
//	0                     next                  len
//	├──────────────────────┼─────────────────────┤
//	│      handed out      │        free         │
//	└──────────────────────┴─────────────────────┘
//
// # Owners
//
// A buffer is open or held. While it is open, anyone may add. A caller whose add moved next from p
// to p+n owns the positions from p to p+n-1, as far as they lie below len. An add that begins at
// len or above finds nothing, and its trace in next means nothing.
//
// hold swaps next for held, far above len, and hands the free positions to its caller: from there
// on adds find nothing. release opens the buffer again, with a store of the first position that is
// still free. Both are called under Tag.mu, and release only after hold. A new buffer is held.
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
// Each buffer has a next of its own, so nothing is asked of its range: ranges of a tag need not
// rise, and a caller that was delayed with an old buffer adds to the old word. While the buffer is
// open only adds move next, and no two of them return the same position. What hold returns was not
// returned by any add, and what release stores lies above every position that was handed out in
// between. A buffer that was replaced is used up or held, and is never released again.
//
// # Overflow
//
// next has room for 2^62 failed adds before it comes round. At 10^9 a second that takes 146 years,
// and a range is replaced long before: a caller that finds nothing waits.
type buffer struct {
	// Read-only. On the line of next, each add of another processor would take them away.
	len    int64 // how many ids there are
	mark   int64 // the caller that takes this position has the next range fetched; below len
	stride int64
	r      Range

	_    cpu.CacheLinePad
	next atomic.Int64
	_    cpu.CacheLinePad
}

// held is the value of next while nobody may take ids by an add.
const held = int64(1) << 62

// newBuffer returns a held buffer of r, which is empty or valid. Its mark is where percent of the
// ids are used, or at the first id.
func newBuffer(r Range, percent int) *buffer {
	n, p := r.Len(), int64(percent)
	used := n/100*p + (n%100*p+99)/100 // rounded up, and n*p may overflow
	b := &buffer{len: n, mark: max(used, 1) - 1, stride: r.stride(), r: r}
	b.next.Store(held)
	return b
}

// id returns the id at position p.
func (b *buffer) id(p int64) int64 { return b.r.From + p*b.stride }

// take claims up to n ids and returns the position of the first and their number: 0 if
// the buffer is used up or held.
func (b *buffer) take(n int64) (p, got int64) {
	if b.next.Load() >= b.len {
		return 0, 0 // without an add, so that callers who try again leave no trace
	}
	n = min(n, b.len)
	p = b.next.Add(n) - n
	return p, max(min(n, b.len-p), 0)
}

// hold takes all free ids away from the callers and returns the position of the first, or len.
func (b *buffer) hold() int64 { return min(b.next.Swap(held), b.len) }

// release publishes that the ids from position p on are free.
func (b *buffer) release(p int64) { b.next.Store(p) }

// free returns how many ids an add may find.
func (b *buffer) free() int64 { return max(b.len-b.next.Load(), 0) }
