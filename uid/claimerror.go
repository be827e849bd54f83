package uid

import (
	"context"
	"errors"

	"github.com/uidring/uidring/assigner"
)

// claimError is why a claim covers no further tick: the authority's error, as judge has found it.
// Nothing in the package asks that error what it is, least of all under a lock: kindOf does.
//
// errors.Is and errors.As find what the authority says, but not what it may not say: that the
// caller's ctx has ended, or an error of a generator, such as ErrLead or ErrClosed, that an
// authority which is built on another generator has met.
type claimError struct {
	head  string // what the text begins with
	text  string
	kind  error // the sentinel that it stands for
	cause error // the authority's
}

func (e *claimError) Error() string { return e.head + ": " + e.text }

// Is reports whether e is of the kind of target, or the authority's error is.
func (e *claimError) Is(target error) bool {
	if target == e.kind {
		return true
	}
	switch target {
	case context.DeadlineExceeded, context.Canceled, ErrLead, ErrEmpty, ErrClosed, ErrExhausted,
		ErrClockBack, ErrNoGene, ErrOptions, errCtxEnded, errExtending:
		return false
	}
	return errors.Is(e.cause, target)
}

// As finds the authority's error.
func (e *claimError) As(target any) bool { return errors.As(e.cause, target) }

// pending returns err, why a claim is not extended, with the text for as long as its window lasts,
// which does not say that the claim has expired.
func pending(err error) error {
	e, ok := err.(*claimError) //nolint:errorlint // wrapped ones have a text of their own
	if !ok {
		return err
	}
	shown := *e
	if e.kind == ErrClaimExpired {
		shown.head = "uid"
	}
	return &shown
}

// kindOf returns the sentinel that a reason of this package stands for, nil if it is none or nil.
// It runs no function of the user's, so it may be called under a lock: a claimError has its kind,
// and the package's other reasons wrap nothing of others.
func kindOf(reason error) error {
	//nolint:errorlint // errors.As may run a function of the user's
	if e, ok := reason.(*claimError); ok {
		return e.kind
	}
	for _, kind := range [...]error{ErrLead, ErrExhausted, ErrEmpty, errExtending, ErrClockBack,
		ErrClosed, assigner.ErrClaimLost, ErrClaimExpired, assigner.ErrSuperseded} {
		if errors.Is(reason, kind) {
			return kind
		}
	}
	return nil
}
