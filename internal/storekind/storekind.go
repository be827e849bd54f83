// Package storekind has the names of a lease.Store's entries, and what the engine of package lease
// asks the stores of this repository for besides a lease.Store.
package storekind

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// The names of entries.
const (
	HeaderName = "header" // that stands for all ids of a store
	SlotPrefix = "slot-"  // of slots; the worker id follows in decimal digits
	NotePrefix = "used-"  // of notes that a worker id was given out; likewise
)

// A Mover is a lease.Store that knows more about itself than a List tells, for a move from it. E is
// lease.Entry.
type Mover[E any] interface {
	// Running returns the header, and the slots whose windows end after an instant, for universes
	// in which most do not. Like Get it shows every change that was answered before the call began.
	Running(ctx context.Context, after time.Time) (header E, slots []E, err error)

	// Deleted returns worker ids from first on that were given out, are not in the header's list,
	// and have no slot any more: nobody knows when their windows end. It looks at some of them; the
	// next call begins at next, which is 0 after the last one.
	Deleted(ctx context.Context, first int64) (ids []int64, next int64, err error)

	// Endless returns the highest worker id that was given out for a window without an end, -1
	// where the store gives out none. With stop set, no more are given out for good from then on,
	// and the answer comes when those that were being given out are in it. It may be called again.
	// Without stop it changes nothing, and fails where stop would be refused.
	Endless(ctx context.Context, stop bool) (highest int64, err error)
}

// A Sessioner is a lease.Store whose calls of one attempt, which come one after another, may share
// what is dear to make, such as a connection.
type Sessioner interface {
	// Session returns a ctx for the calls of one attempt. Nothing waits inside of it for anything
	// but the Store. end is called after the last call.
	Session(ctx context.Context) (calls context.Context, end func())
}

// A Fresh is a lease.Store whose List shows, like its Get, every change that was answered before
// the call began. A start saves the second look that an old List needs.
type Fresh interface {
	Fresh()
}

// A Noter is a lease.Store whose List leaves the notes out, because few starts need them.
type Noter interface {
	// Notes returns the worker ids of all notes. Like Get it shows every change that was answered
	// before the call began.
	Notes(ctx context.Context) ([]int64, error)
}

// WorkerOf returns the worker id of an entry's name that begins with a prefix: 0 to 1<<53.
func WorkerOf(name, prefix string) (worker int64, ok bool) {
	n, _ := strconv.ParseInt(strings.TrimPrefix(name, prefix), 10, 64)
	ok = n >= 0 && n <= 1<<53 && name == prefix+strconv.FormatInt(n, 10) // which no other text is
	return n, ok
}

// ErrRolledBack says that the store has rolled back a change and says so. Like every error but
// lease.ErrConflict it proves nothing about the entry, and other than a lost answer it does not let
// a slot that is behind count as evidence that the store went back: a member of a cluster that lags
// rolls back what is built on its old entries.
var ErrRolledBack = errors.New("lease: the store rolled the change back")

// What a header's text of layouts begins with while or after its universe moves. No list of layouts
// begins with either, so processes of a version that knows nothing of moves start nothing and
// confirm nothing: the texts are compared, and differ.
const (
	Sealed = "moved to " // in the source; the place of the target follows
	Closed = "moving:"   // in a target that is not open yet; the layouts follow
)

// InMove reports whether the text that a header has in place of its layouts is that of a move: its
// ids were moved away, or are being moved in.
func InMove(layouts string) bool {
	return strings.HasPrefix(layouts, Sealed) || strings.HasPrefix(layouts, Closed)
}
