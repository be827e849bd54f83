// Package assigner says who a generator is: an Assigner hands out a Claim, a worker id together with the stretch of
// time in which that worker id is the claimant's alone.
//
// The package is the contract and the assigners that need nothing but the machine. Worker ids from a database are in
// assigner/workernode, from ZooKeeper in assigner/zookeeper. Who writes another one runs it through
// assigner/assignertest.
package assigner

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrWorkersExhausted says that every worker id up to the layout's highest is taken. It is permanent for an
	// Assigner that never reuses ids; the message says what to do.
	ErrWorkersExhausted = errors.New("assigner: worker ids exhausted")

	// ErrClaimLost says that someone else owns the worker id beyond the claim's window. It is permanent for the
	// claim: only a new Assign helps.
	ErrClaimLost = errors.New("assigner: claim lost")

	// ErrClaimExpired says that the claim's window could not be extended in time, because the authority behind it did not
	// answer. It passes when the authority comes back.
	ErrClaimExpired = errors.New("assigner: claim expired")

	// ErrLayoutMismatch says that the authority's other claims were made for another bit layout or epoch, whose ids
	// could collide with this one's. It is permanent until the configuration changes.
	ErrLayoutMismatch = errors.New("assigner: layout mismatch")
)

// An Assigner hands out worker ids. Implementations are safe for concurrent use.
type Assigner interface {
	// Assign claims a worker id in [0, maxWorker]. It may block on I/O until ctx ends, and its error then wraps that of
	// ctx. A worker id that is out of range is an error that wraps ErrWorkersExhausted, never a truncated id.
	Assign(ctx context.Context, maxWorker int64) (Claim, error)
}

// A Claim is a worker id and the window of time that is the holder's alone. Of all claims ever made on one worker id
// through one authority, no two windows overlap; that, and no clock, is what makes ids unique across processes.
//
// Only one goroutine at a time may call Extend or Release; Worker and Window may be called from any.
type Claim interface {
	// Worker returns the worker id. It never changes.
	Worker() int64

	// Window returns the half-open stretch [from, until) in which ids may be stamped. A zero from is the beginning of
	// time, a zero until means that the window has no end. from never changes; until only grows.
	Window() (from, until time.Time)

	// Extend asks for a window that ends at until or later and returns its actual end, which is also what Window
	// reports from then on. When Extend fails the window is what it was. An error that wraps ErrClaimLost is
	// permanent; after any other, Extend may be called again.
	Extend(ctx context.Context, until time.Time) (time.Time, error)

	// Release gives back the part of the window from used on; used is the end of the last tick stamped, or the zero time
	// if nothing was stamped. No id may be stamped after Release was called, even if it fails; whoever does not call
	// it at all keeps the worker id from others until the window's end. Extend fails after Release. Releasing twice does
	// nothing.
	Release(ctx context.Context, used time.Time) error
}

// A LayoutBinder is an Assigner whose claims are tied to one bit layout: it refuses, with ErrLayoutMismatch, to hand out a
// worker id beside claims of another layout. Generators call BindLayout with the layout's canonical text
// (bitsalloc.Layout.String) and use the Assigner that it returns.
type LayoutBinder interface {
	Assigner
	BindLayout(layout string) Assigner
}

// A Clock is a Claim whose authority can tell the time. A generator asks it to confirm a local clock that jumped
// forward. Now may block on I/O until ctx ends.
type Clock interface {
	Now(ctx context.Context) (time.Time, error)
}
