// Package assigner gives generators their worker ids. An Assigner hands out a Claim: a worker id
// together with the window of time in which no other holder may use it.
//
// The package holds the contract and the assigners that need no server. Worker ids from a database
// are in assigner/workernode, worker ids from ZooKeeper in assigner/zookeeper. To write another
// Assigner, run it through assigner/assignertest.
package assigner

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrWorkersExhausted means that no worker id is free, or that the one that is asked for is out
	// of range. It is permanent for an Assigner that never reuses ids. The message says what to do.
	ErrWorkersExhausted = errors.New("assigner: worker ids exhausted")

	// ErrClaimLost means that another process owns the worker id after the claim's window. It is
	// permanent for the claim: only a new Assign helps.
	ErrClaimLost = errors.New("assigner: claim lost")

	// ErrBeyondReach means that the window would end further beyond the authority's clock than the
	// authority grants: its reach. One of the two clocks, that of the authority or that of the
	// process, is wrong, and a window that far ahead would keep the worker id from all others. It
	// is temporary: it passes when the clocks agree. The message says the authority's time, the end
	// that was asked for, and the reach.
	ErrBeyondReach = errors.New(
		"assigner: the window would end too far beyond the authority's clock")

	// ErrLayoutMismatch means that other claims of the same authority belong to another bit layout
	// or epoch, so that ids could be equal. It is permanent until the configuration changes.
	ErrLayoutMismatch = errors.New("assigner: layout mismatch")

	// ErrSuperseded means that other claims of the same authority are for a layout that this
	// process does not know, and its time has come. It is permanent until the process is started
	// with it.
	ErrSuperseded = errors.New("assigner: superseded by a layout that is not known here")

	// ErrWentBack means that the authority is in an older state than this process has seen: a
	// backup was restored, a replica promoted that lacks the last changes, or entries were deleted.
	// Worker ids and windows that it forgot may be given out twice until an operator has repaired
	// it. The message says what it was and what it is. An error that wraps it wraps ErrClaimLost as
	// well.
	ErrWentBack = errors.New("assigner: the authority went back to an older state")

	// ErrMoved means that the universe of ids was moved to another authority, which the message
	// names: this one grants no window any more, new or longer. A claim that has one goes on to its
	// end. It is permanent until the process is started with the address of the other authority.
	ErrMoved = errors.New("assigner: the worker ids were moved to another authority")
)

// An Assigner hands out worker ids. Implementations are safe for concurrent use.
type Assigner interface {
	// Assign claims a worker id in [0, maxWorker]. It may block until ctx ends, and its error then
	// wraps that of ctx: the constructor of a generator waits for it. A worker id that is out of
	// range is an error that wraps ErrWorkersExhausted, never a truncated id.
	Assign(ctx context.Context, maxWorker int64) (Claim, error)
}

// A Claim is a worker id and a window of time. Of all claims ever made on one worker id through one
// authority, no two windows overlap. That, and no clock, makes ids unique across processes.
//
// Only one goroutine at a time may call Extend or Release. They return soon after their ctx has
// ended: to a generator a call that does not has failed, and until it returns no other is made.
// Worker and Window are safe for concurrent use; a generator calls them while no other of the
// claim's methods runs, so they may share a lock with those. A generator waits for its claim's
// methods when it is closed, so they must not call its Close. They may call its other methods: it
// holds no lock while they run.
type Claim interface {
	// Worker returns the worker id. It never changes.
	Worker() int64

	// Window returns the half-open window [from, until) in which ids may be stamped. A zero from is
	// the beginning of time. A zero until means that the window has no end. from never changes;
	// until only grows.
	Window() (from, until time.Time)

	// Extend asks for a window that ends at until or later. It returns the window's actual end,
	// which Window reports from then on. The end is earlier than until in three cases. The claim
	// bounds how far it reaches ahead of the clock, and waits until it can grant more than before,
	// or for a few seconds. Or the window ends where a layout begins that the process does not
	// know; from then on Extend fails with ErrSuperseded. Or the authority tells the time and the
	// window ends at its time plus its reach; where that is no more than the window has, Extend
	// fails with ErrBeyondReach at once, and the caller asks again no more than once a second. When
	// Extend fails, the window does not change. An error that wraps ErrClaimLost is permanent;
	// after any other, Extend may be called again.
	Extend(ctx context.Context, until time.Time) (time.Time, error)

	// Release gives back the part of the window from used on. used is the end of the last tick
	// stamped, or the zero time if nothing was stamped. No id may be stamped after the call, even
	// if it fails. Without Release the worker id stays reserved until the window's end. Extend
	// fails after Release. Releasing twice does nothing.
	Release(ctx context.Context, used time.Time) error
}

// A LayoutBinder is an Assigner whose claims belong to one bit layout, or to one list of layouts
// that succeed one another: an authority of its own hands out no worker id while it holds claims of
// another layout, and fails with ErrLayoutMismatch. CompareLayouts has the rules for a process that
// knows fewer layouts than others, and for one that brings a new one. Generators call BindLayout
// with the canonical text (bitsalloc.Eras.String) and use the Assigner that it returns. Claims that
// name no layout, and those that do, do not mix: the authority refuses the later ones.
type LayoutBinder interface {
	Assigner
	BindLayout(layout string) Assigner
}

// A Clock is a Claim whose authority tells the time. A generator asks it to confirm a local clock
// that jumped forward. Now may block on I/O until ctx ends. An Assigner may be a Clock too, which
// is safe for concurrent use: package service then tells the time without a claim.
type Clock interface {
	// Now returns the authority's time. An error changes nothing for the claim.
	Now(ctx context.Context) (time.Time, error)
}

// A Named is a Claim that knows the universe of ids that its worker id belongs to. Processes that
// name it by different addresses, such as those of a server and of a proxy, report one name.
type Named interface {
	// Universe returns a name that the authority has drawn by chance, empty if it has none. It does
	// not block, and is safe for concurrent use.
	Universe() string
}

// A Windowed is a Claim that knows how long a new window is. A generator asks each extension for
// that much beyond its position. Without Span, or if it returns 0, it asks for what is left of the
// window when it is claimed, by the clock of the claim if it is a Clock, else by its own.
type Windowed interface {
	// Span returns the length of a new window, 0 if it is not known. It does not block.
	Span() time.Duration
}
