package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/storekind"
)

// A Store keeps entries, small texts under names, for one universe of ids. It is safe for
// concurrent use, and every call ends soon after its ctx.
//
// Get and Put are linearizable: a call shows every change that was answered before the call began.
// A replica that lags, or a cache, is no such store. Nor is a store that answers before a change is
// safe from the loss of a server.
//
// An error that wraps ErrRefused is an answer that another try does not change, such as missing
// rights. After any other error the call is tried again, and the outcome of a Put is read back.
//
// A Store that holds many slots may be an Index, and a Numberer.
//
// The clock of a Store that implements assigner.Clock decides when a slot is free, and its claims
// tell the time. Without one, the process's clock decides. A Store that implements fmt.Stringer
// says where it is, for messages; the text must not hold a secret.
type Store interface {
	// List returns all entries, in any order. It need not be a snapshot, and may be old. But where
	// it returns a header, it shows every change that was answered before that header was written:
	// a store that reads entry by entry reads the header first.
	List(ctx context.Context) ([]Entry, error)

	// Get returns the entry of a name. An entry that does not exist is no error: it has no Version.
	Get(ctx context.Context, name string) (Entry, error)

	// Put stores value in place of old, and returns the entry as it is then. It is one atomic
	// compare-and-set: if the entry's Version is no longer that of old, or if there is an entry and
	// old has no Version, Put changes nothing and returns an error that wraps ErrConflict.
	Put(ctx context.Context, old Entry, value []byte) (Entry, error)
}

// The names of entries.
const (
	headerName = storekind.HeaderName
	slotPrefix = storekind.SlotPrefix
	notePrefix = storekind.NotePrefix
)

// Entry is what a Store keeps under a name.
type Entry struct {
	Name  string // "header", or "slot-" or "used-" and a worker id in decimal digits
	Value []byte // JSON, at most 16 KiB
	// Version is of this value, and another one after every change; empty: there is no entry. A
	// store that went back to an older state may count to the same one again, with another value:
	// Put has to tell the two apart, by the value if need be.
	Version string

	// At is when the entry was read, by the clock of a Store that is an assigner.Clock, and saves
	// the call of Now. It is set for an entry that does not exist as well. Zero: not told.
	At time.Time
}

var (
	// ErrConflict says that an entry is not the one that Put was to change.
	ErrConflict = errors.New("lease: the entry was changed")

	// ErrRefused says that a store refuses for a reason that does not pass by itself, such as
	// missing rights. It is permanent until an operator removes the reason.
	ErrRefused = errors.New("lease: the store refuses")
)

// place says where s is, for messages.
func place(s Store) string {
	if p, ok := s.(fmt.Stringer); ok {
		return p.String()
	}
	return "the store"
}

// permanent reports whether another try of what failed with err would fail as well.
func permanent(err error) bool {
	return slices.ContainsFunc([]error{ErrRefused, assigner.ErrWentBack,
		assigner.ErrWorkersExhausted, assigner.ErrClaimLost, assigner.ErrLayoutMismatch,
		assigner.ErrSuperseded, assigner.ErrMoved, ErrMoveRefused, ErrSkew,
	}, func(p error) bool { return errors.Is(err, p) })
}
