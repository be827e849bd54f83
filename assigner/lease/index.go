package lease

import (
	"context"
	"errors"
)

// An Index is a Store that finds what a start needs without a List, for universes of many slots.
// With it, List is called for Slots, Examine, Restore and Move alone, and, where it is no Numberer,
// for TakeBack and by a start that has lost notes to others. Where an Index is an assigner.Clock,
// it tells the time of each read in Entry.At.
type Index interface {
	Store

	// Look returns the header, and slots of the range by the ends of their windows, the earliest
	// first: at most q.Limit after the first q.Skip, and only those whose windows have passed
	// unless q.Reserved is set. A header that does not exist has no Version. The answer may be old:
	// it is a list of slots to try. It may leave out slots that must not be claimed.
	Look(ctx context.Context, q Query) (header Entry, slots []Entry, err error)

	// Latest returns the slot whose window ends last. Without any slot the entry has no Version.
	// Like Get it shows every change that was answered before the call began.
	Latest(ctx context.Context) (Entry, error)

	// Shows reports whether the slot of a name has a token. Unlike Get it waits for no other
	// session, so what it shows may be undone yet, and may be old.
	Shows(ctx context.Context, name, token string) (bool, error)
}

// Query says which slots Look returns.
type Query struct {
	First, Last int64 // the range of worker ids
	Limit, Skip int
	Reserved    bool // those whose windows have not passed as well
}

// A Numberer is a Store that knows which worker ids were never given out, so that it gets no notes.
type Numberer interface {
	Store

	// Number returns at most n worker ids of [first, last] that no process has had, in ascending
	// order. If there are none left it returns none, or an error that wraps
	// assigner.ErrWorkersExhausted and says why. Many processes may get the same ones: the first to
	// make the slot has the worker id.
	//
	// With own set, there is one, and no call returns it again, in any process and after a Restore.
	// It may then be above last, where the store counts on by itself.
	Number(ctx context.Context, first, last int64, n int) (ids []int64, own bool, err error)

	// Owns reports whether a worker id that Number returned as the caller's own still is. A store
	// that went back may have forgotten it, and given it to another process.
	Owns(ctx context.Context, worker int64) (bool, error)

	// Used reports whether Number never returns a worker id although it has no slot. It is
	// ErrConflict if there is a slot: what says that there is none is old then.
	Used(ctx context.Context, worker int64) (bool, error)
}

// ErrBusy says that another session has held the entry that Put was to change for longer than the
// store waits. The change may be made later. A start tries another slot then.
var ErrBusy = errors.New("lease: another session holds the entry")
