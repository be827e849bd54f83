// Package ledger finds duplicates, however many ids there are, for tests that record all
// ids of many processes.
package ledger

import (
	"slices"
	"sync"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/uid"
)

// Ledger has a bit for every (worker, tick, seq) that it has seen. Two equal ids meet on one bit; a
// count or a sum would not notice them if another id were missing. All methods are safe for
// concurrent use.
//
// A tick is a page of MaxSeq+1 bits while some of its ids are missing, and part of a span when none
// is. The memory does not depend on the number of ids: it is a page for every tick of a worker id
// that stays incomplete, and 16 bytes for each span of complete ticks.
type Ledger struct {
	alloc *bitsalloc.Allocator

	mu      sync.Mutex        // guards the fields below
	workers map[int64]*worker // by worker id
	sources map[int]int64     // how many ids came from each source
	sum     Summary           // without Workers and Shared, which Sum counts
}

// Summary says what a Ledger has seen.
type Summary struct {
	IDs        int64    // all ids, duplicates included
	Duplicates int64    // ids that had come before
	First      []uid.ID // the first ten duplicates
	Foreign    int64    // numbers below 0, which are no ids
	Workers    int      // worker ids
	Shared     int      // worker ids that more than one source used
}

// worker holds the ids of one worker id.
type worker struct {
	pages   map[int64]*page // the incomplete ticks, by tick
	full    []span          // the complete ticks; ascending, disjoint, no two spans touch
	sources map[int]struct{}
}

// page is one tick that is not complete.
type page struct {
	bits []uint64 // a bit for each sequence number
	left int64    // how many sequence numbers have not come
}

// span is the ticks [from, to).
type span struct{ from, to int64 }

// New returns a Ledger for ids of alloc's layout, which has no GeneBits.
func New(alloc *bitsalloc.Allocator) *Ledger {
	return &Ledger{alloc: alloc, workers: map[int64]*worker{}, sources: map[int]int64{}}
}

// Add counts ids that came from one source, such as a process.
func (l *Ledger) Add(source int, ids []uid.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sources[source] += int64(len(ids))
	for _, id := range ids {
		l.sum.IDs++
		if id < 0 {
			l.sum.Foreign++
			continue
		}
		tick, who, seq, _ := l.alloc.Split(int64(id))
		w := l.workers[who]
		if w == nil {
			w = &worker{pages: map[int64]*page{}, sources: map[int]struct{}{}}
			l.workers[who] = w
		}
		if _, ok := w.sources[source]; !ok {
			w.sources[source] = struct{}{}
		}
		if w.add(tick, seq, l.alloc.MaxSeq()+1) {
			continue
		}
		l.sum.Duplicates++
		if len(l.sum.First) < 10 {
			l.sum.First = append(l.sum.First, id)
		}
	}
}

// Sum returns what was seen so far.
func (l *Ledger) Sum() Summary {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.sum
	s.First = slices.Clone(s.First)
	s.Workers = len(l.workers)
	for _, w := range l.workers {
		if len(w.sources) > 1 {
			s.Shared++
		}
	}
	return s
}

// From returns how many ids came from one source.
func (l *Ledger) From(source int) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sources[source]
}

// Has reports whether id has come.
func (l *Ledger) Has(id uid.ID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	tick, who, seq, _ := l.alloc.Split(int64(id))
	w := l.workers[who]
	if w == nil {
		return false
	}
	p := w.pages[tick]
	return w.complete(tick) || p != nil && p.bits[seq/64]>>(seq%64)&1 != 0
}

// Pages returns the number of incomplete ticks, which most of the memory is used for.
func (l *Ledger) Pages() (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.workers {
		n += len(w.pages)
	}
	return n
}

// add notes (tick, seq) and reports whether it is new.
func (w *worker) add(tick, seq, space int64) bool {
	p := w.pages[tick]
	if p == nil {
		if w.complete(tick) {
			return false
		}
		p = &page{bits: make([]uint64, (space+63)/64), left: space}
		w.pages[tick] = p
	}
	bit := uint64(1) << (seq % 64)
	if p.bits[seq/64]&bit != 0 {
		return false
	}
	p.bits[seq/64] |= bit
	if p.left--; p.left == 0 {
		delete(w.pages, tick)
		w.close(tick)
	}
	return true
}

// complete reports whether every id of tick has come.
func (w *worker) complete(tick int64) bool {
	i := w.after(tick)
	return i > 0 && tick < w.full[i-1].to
}

// after returns the index of the first span that begins after tick.
func (w *worker) after(tick int64) int {
	i, _ := slices.BinarySearchFunc(w.full, tick, func(s span, t int64) int {
		if s.from > t {
			return 1
		}
		return -1
	})
	return i
}

// close adds a tick that has become complete to the spans.
func (w *worker) close(tick int64) {
	i := w.after(tick)
	left := i > 0 && w.full[i-1].to == tick
	right := i < len(w.full) && w.full[i].from == tick+1
	switch {
	case left && right:
		w.full[i-1].to = w.full[i].to
		w.full = slices.Delete(w.full, i, i+1)
	case left:
		w.full[i-1].to++
	case right:
		w.full[i].from--
	default:
		w.full = slices.Insert(w.full, i, span{tick, tick + 1})
	}
}
