package segment

import (
	"sync/atomic"
	"time"

	"golang.org/x/sys/cpu"

	"github.com/uidring/uidring/internal/caller"
)

// buffer is one range, in the course of being handed out. The word taken cuts the range into runs; a lane hands out the ids of
// a run, one by one.
//
//	0                        taken                      len
//	├────┬────┬────┬────┬──────┬─────────────────────────┤
//	│    │    │    │    │      │          free           │
//	└────┴────┴────┴────┴──────┴─────────────────────────┘
//	 runs: handed out, or       whoever finds his lane used up
//	 what is left in a lane     moves taken and gives his lane the run
//
// No id is handed out twice: taken only grows, so each run goes into one lane; a lane hands out each id of it once; and what is
// left of it moves to another lane only by the swap that takes it away from the first.
//
// The range is used up when taken is len and nothing is left in any lane. That stays true, for what is in a lane was taken or was
// in another lane before. Whether it is true shows under all lanes' mu, because a run on its way into a lane is
// nowhere to be seen.
type buffer struct {
	// Read-only. They are on lines of their own, which every processor keeps a copy of: on a word's line, each add of
	// another processor would take them away.
	zero int64        // an id is zero plus the lower half of a word
	add  int64        // what is added to a lane's word for an id
	many *[width]lane // nil if there is one lane
	bits uint64       // which bits of the caller's hash pick one of the many

	begun time.Time // when the range was put in use

	len  int64 // how many ids there are
	mark int64 // who takes this many-th id, from 1, has the next range fetched
	run  int64 // how many ids a lane is given at a time
	r    Range

	_     cpu.CacheLinePad
	taken atomic.Int64
	_     cpu.CacheLinePad
	_     cpu.CacheLinePad
	one   [1]lane // the lane if there are not many
}

const (
	width  = 64  // lanes of a wide buffer: a few times the processors of most machines, so that two goroutines rarely meet
	maxRun = 512 // longer runs gain little
	minRun = 8   // shorter ones are not worth many lanes
	ahead  = 16  // the lanes hold at most this part of a range

	// Many lanes are for callers who together take an id in less than this. At a slower pace they hardly meet at one.
	hurry = time.Microsecond
)

// newBuffer returns a buffer of r, whose mark is at percent of its ids, or at the first one. If wide it has many lanes, unless the
// range is too short for them.
func newBuffer(r Range, percent int, wide bool) *buffer {
	n, p := r.Len(), int64(percent)
	mark := max(n/100*p+(n%100*p+99)/100, 1)
	if run := n / (ahead * width); wide && run >= minRun {
		return cut(r, mark, true, min(run, maxRun))
	}
	return cut(r, mark, false, max(1, min(n/ahead, maxRun)))
}

// cut returns a buffer of r with the given mark, one lane or many, and runs of the given length.
func cut(r Range, mark int64, wide bool, run int64) *buffer {
	b := &buffer{zero: r.From - r.stride(), add: r.stride() - oneLeft, begun: time.Now(), len: r.Len(), mark: mark, run: run, r: r}
	if wide {
		b.many = new([width]lane)
		b.bits = 32 + uint64(r.From)*0x9E3779B97F4A7C15>>60 // others for the next range, so that nobody shares a lane for long
	}
	return b
}

// lane returns the caller's lane.
func (b *buffer) lane() *lane {
	if b.many != nil {
		return &b.many[caller.Hash()>>(b.bits&63)%width]
	}
	return &b.one[0]
}

// lanes returns all lanes.
func (b *buffer) lanes() []lane {
	if b.many != nil {
		return b.many[:]
	}
	return b.one[:]
}

// id returns the id that w stands for.
func (b *buffer) id(w int64) int64 { return b.zero + int64(uint32(w)) }

// word returns the word that stands for the id at position p, 0 to len-1, with so many left.
func (b *buffer) word(p, left int64) int64 { return left*oneLeft + (p+1)*b.r.stride() }

// behind returns the position behind the id that w stands for.
func (b *buffer) behind(w int64) int64 { return int64(uint32(w)) / b.r.stride() }

// claim sets the first elements of ids, which is not empty, to neighbours that are the caller's, and returns how many: 0 when
// it finds none, though some may be on their way into other lanes. If it says due, the caller has the next range fetched.
func (b *buffer) claim(l *lane, ids []int64) (got int, due bool) {
	want := int64(len(ids))
	first, n := l.take(b.add, want)
	for again := true; n == 0 && again; {
		if first, n, due, again = b.refill(l, want); again {
			first, n = l.take(b.add, want)
		}
	}
	id := b.id(first)
	for i := range ids[:n] {
		ids[i] = id
		id += b.r.stride()
	}
	return int(n), due
}

// refill is for a lane that is used up. It takes a run, or what is left in another lane. Of that up to n ids, beginning with the
// one that first stands for, are the caller's, and the rest goes into the lane. Another caller who was faster, so that there are
// ids in the lane, means again.
func (b *buffer) refill(l *lane, n int64) (first, got int64, due, again bool) {
	// Without the lock two callers would take two runs and begin one: ids would be lost or out of order.
	if !l.lockUsedUp() {
		return 0, 0, false, true
	}
	defer l.mu.Unlock()
	p, left, due := b.takeRun(n)
	if left > 0 {
		l.runs++
		l.shared = false
	} else {
		p, left = b.takeRest()
	}
	if got = min(n, left); got < left {
		l.word.Store(b.word(p+got-1, left-got)) // publishes what is left behind the caller's ids
	}
	return b.word(p, 0), got, due, false
}

// takeRun takes a run, or n ids if that is more, as far as there are any, and returns the position of the first and how many
// they are. The ids behind the first n never include the mark: due says that the n do.
func (b *buffer) takeRun(n int64) (p, left int64, due bool) {
	for {
		p = b.taken.Load()
		n = min(n, b.len-p)
		if n <= 0 {
			return 0, 0, false
		}
		left = min(max(n, b.run), b.len-p)
		if p+n < b.mark {
			left = min(left, b.mark-1-p)
		}
		// A failure means that another lane was given a run.
		if b.taken.CompareAndSwap(p, p+left) {
			return p, left, p < b.mark && b.mark <= p+n
		}
	}
}

// takeRest takes away what is left in a lane that has something left.
func (b *buffer) takeRest() (p, left int64) {
	for i := range b.lanes() {
		if l := &b.lanes()[i]; leftIn(l.word.Load()) > 0 {
			if w := l.word.Swap(0); leftIn(w) > 0 {
				return b.behind(w), leftIn(w)
			}
		}
	}
	return 0, 0
}

// lock takes every lane's mu, in the order of the lanes. Nobody else who holds one waits for another.
func (b *buffer) lock() {
	for i := range b.lanes() {
		b.lanes()[i].mu.Lock()
	}
}

func (b *buffer) unlock() {
	for i := range b.lanes() {
		b.lanes()[i].mu.Unlock()
	}
}

// used returns how many ids are handed out.
func (b *buffer) used() int64 {
	b.lock()
	defer b.unlock()
	used := b.taken.Load()
	for i := range b.lanes() {
		used -= leftIn(b.lanes()[i].word.Load())
	}
	return used
}

// crowded reports whether the next range should have many lanes, which is asked when that one is put in the place of this one:
// callers met at the one lane so that more than a quarter of its runs were asked for by several of them; or they needed more
// than one of the many, and were in a hurry, waits for the source included. A lane that was given a single run was not needed:
// even a caller who is alone begins a range deeper in his stack than he goes on, which may be at another lane.
func (b *buffer) crowded() bool {
	b.lock()
	defer b.unlock()
	if b.many == nil {
		return b.one[0].met > b.one[0].runs/4
	}
	needed := 0
	for i := range b.many {
		if b.many[i].runs > 1 {
			needed++
		}
	}
	return needed > 1 && time.Since(b.begun) < time.Duration(b.len)*hurry
}

// seal uses the range up: from here on nobody gets an id. It returns the end of the range that nobody claimed, together with
// what is left right before it. What else is left in lanes is lost.
func (b *buffer) seal() (rest Range, ok bool) {
	b.lock()
	defer b.unlock()
	end := b.taken.Swap(b.len)
	from := end
	for i := range b.lanes() {
		if w := b.lanes()[i].word.Swap(0); leftIn(w) > 0 && b.behind(w)+leftIn(w) == end {
			from = b.behind(w)
		}
	}
	rest = b.r
	rest.From += from * b.r.stride()
	return rest, from < b.len
}
