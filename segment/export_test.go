package segment

import (
	"context"
	"sync"
	"time"

	"gorm.io/gorm"
)

// LockingLeafAlloc and LockingSequence are LeafAlloc and Sequence as they work on a database that this package does not
// know: with a row lock in a transaction.
func LockingLeafAlloc(db *gorm.DB) Source {
	l := LeafAlloc(db, nil).(*leafAlloc)
	l.store.dialect = dialectLock
	return l
}

func LockingSequence(db *gorm.DB, opts *SequenceOptions) Source {
	s := Sequence(db, opts).(*sequence)
	s.store.dialect = dialectLock
	return s
}

// Backoff is the pause after so many failures in a row.
func Backoff(failures int, least, most time.Duration) time.Duration {
	return backoff(failures, least, most)
}

// Failed returns how many failed adds have left their trace in the lanes of a tag's buffer in use.
func (t *Tag) Failed() int64 { return t.cur.Load().Failed() }

// Failed returns how many failed adds have left their trace in the lanes.
func (b *buffer) Failed() (n int64) {
	for i := range b.lanes() {
		n -= min(b.lanes()[i].word.Load()>>32, 0)
	}
	return n
}

// Wide reports whether a tag's buffer in use has many lanes.
func (t *Tag) Wide() bool { return t.cur.Load().many != nil }

// Hold keeps callers that find the tag's lane used up waiting until release.
func (t *Tag) Hold() (release func()) { return t.cur.Load().Hold() }

// Hold keeps callers that find the first lane used up waiting until release.
func (b *buffer) Hold() (release func()) {
	l := &b.lanes()[0]
	l.mu.Lock()
	return l.mu.Unlock
}

// Meet is a caller who found the tag's lane used up, and comes when another one has refilled it.
func (t *Tag) Meet() {
	if t.cur.Load().one[0].lockUsedUp() {
		panic("the lane is used up")
	}
}

// InRun returns how many ids are left in the tag's lane.
func (t *Tag) InRun() int64 { return leftIn(t.cur.Load().one[0].word.Load()) }

// Late returns what a caller does who has used up what he found of the buffer in use, and one who was told to fetch by it.
func (t *Tag) Late() (await func(context.Context) error, prefetch func()) {
	b := t.cur.Load()
	return func(ctx context.Context) error { return t.await(ctx, b) }, func() { t.prefetch(b) }
}

// Open is what a caller does who asks for a tag, before he waits for its first range.
func (g *Generator) Open(name string) error {
	_, err := g.open(name)
	return err
}

// Drop drops a tag that the source no longer has.
func (g *Generator) Drop(t *Tag) { g.drop(t, ErrUnknownTag) }

// Buffer lets tests at a range in the course of being handed out.
type Buffer = buffer

// NewBuffer is newBuffer, and Cut is cut.
func NewBuffer(r Range, percent int, wide bool) *Buffer     { return newBuffer(r, percent, wide) }
func Cut(r Range, mark int64, wide bool, run int64) *Buffer { return cut(r, mark, wide, run) }

// Next takes one id, as Tag.Next does, from the lane of that number or, if it is below 0, from the caller's.
func (b *buffer) Next(lane int) (id int64, ok, due bool) {
	l := b.lane()
	if lane >= 0 {
		l = &b.lanes()[lane]
	}
	if w := l.word.Add(b.add); w >= 0 {
		return b.id(w), true, false
	}
	var one [1]int64
	n, due := b.claim(l, one[:])
	return one[0], n > 0, due
}

// Fill takes ids, as Tag.Fill does.
func (b *buffer) Fill(lane int, ids []int64) (int, bool) { return b.claim(&b.lanes()[lane], ids) }

// Shape returns how many lanes there are, and how many ids in a run.
func (b *buffer) Shape() (lanes int, run int64) { return len(b.lanes()), b.run }

// Skip has the runs from here on begin at a position.
func (b *buffer) Skip(p int64) { b.taken.Store(max(b.taken.Load(), p)) }

// Lane is a lane.
type Lane = lane

// Exhausted is what Tag.await looks at.
func (b *buffer) Exhausted() bool     { return b.used() == b.len }
func (b *buffer) Used() int64         { return b.used() }
func (b *buffer) Seal() (Range, bool) { return b.seal() }
func (b *buffer) Crowded() bool       { return b.crowded() }

// Marks returns how many tags the Generator's guard remembers.
func (g *Generator) Marks() int {
	g.guard.mu.Lock()
	defer g.guard.mu.Unlock()
	return len(g.guard.marks)
}

// Pending returns how many tags wait for their first range.
func (g *Generator) Pending() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.pending)
}

// Locked takes every lock that there is in a Generator and returns what gives them back.
func (g *Generator) Locked() (unlock func()) {
	var held []*sync.Mutex
	take := func(mu *sync.Mutex) {
		mu.Lock()
		held = append(held, mu)
	}
	take(&g.mu)
	take(&g.guard.mu)
	for _, t := range g.dir.tags() {
		take(&t.mu)
		lanes := t.cur.Load().lanes()
		for i := range lanes {
			take(&lanes[i].mu)
		}
	}
	return func() {
		for _, mu := range held {
			mu.Unlock()
		}
	}
}
