package segment

import (
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

// Claims returns how many claims a tag's buffer in use has seen, void ones included.
func (t *Tag) Claims() int64 { return t.cur.Load().next.Load() }

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
