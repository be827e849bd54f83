package segment

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// sealed is a position beyond every buffer's last one.
const sealed = maxLen

// buffer is one range, in the course of being handed out.
//
// The word next counts the claims on the range. Whoever adds n to it and gets k owns the positions k-n .. k-1 and nobody
// else ever does, because the word only grows: position i is the id from + i*stride if i < len, and void otherwise.
//
//	next:  0 ........ mark ............... len ............ 2^62 ............ 2^63
//	       |  claimed ids  |  ids to claim  |  void claims    |  sealed: void    |
//
// Claims beyond len do no harm and are not undone. A caller makes one only if it finds the buffer current and used up,
// and then waits for another one, so there is about one per failed call. len is at most 2^62 and seal leaves the
// word at 2^62, so it would take 2^62 void claims, a century at a billion a second, for it to overflow.
//
// There is no ABA: a buffer is made for one range and never used again.
type buffer struct {
	// Read-only. They are on a line of their own, which every processor keeps a copy of: on next's line, each add of
	// another processor would take them away.
	from   int64
	stride int64
	len    int64
	mark   int64 // who claims this many-th id (1..len) has the next range fetched
	r      Range

	_    cpu.CacheLinePad
	next atomic.Int64
	_    cpu.CacheLinePad
}

// newBuffer returns a buffer of r, whose mark is at percent of its ids, or at the next one.
func newBuffer(r Range, percent int) *buffer {
	b := &buffer{from: r.From, stride: r.stride(), len: r.Len(), r: r}
	b.mark = max(b.len/100*int64(percent)+(b.len%100*int64(percent)+99)/100, 1)
	return b
}

// claim claims up to n positions, n at least 1, and returns the first one and how many of them are ids: 0 when the buffer
// is used up.
func (b *buffer) claim(n int64) (first, got int64) {
	// The look ahead keeps next from growing by whole lengths when callers with large slices meet a small rest.
	left := b.len - b.next.Load()
	if left <= 0 {
		return 0, 0
	}
	n = min(n, left)
	first = b.next.Add(n) - n
	return first, max(min(n, b.len-first), 0)
}

// id returns the id at a position.
func (b *buffer) id(position int64) int64 { return b.from + position*b.stride }

// used returns how many ids are claimed.
func (b *buffer) used() int64 { return min(b.next.Load(), b.len) }

// seal ends the buffer: from here on every claim is void. It returns the ids that nobody claimed.
func (b *buffer) seal() (rest Range, ok bool) {
	used := min(b.next.Swap(sealed), b.len)
	rest = b.r
	rest.From += used * b.stride
	return rest, used < b.len
}
