package lease

import (
	"context"
	"errors"
	"fmt"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/storekind"
)

// believe makes a store that went back safe, as far as this process knows of it. found is a slot as
// a Get has shown it. It is behind known, as a claim here left it.
//
// The repair of the slot is the proof, because found may be old: nothing is believed while another
// entry is there. Only a slot that needs no repair, as said below, is believed as it was read. The
// repair makes no room for a third owner inside of windows that the store forgot:
//
//   - The slot gets an end that is beyond all of them: the known end, the header's floor, what this
//     process has found out before, and the store's reach from now. It has no owner then: an
//     owner in between may have stamped what this process did, and must not go on.
//   - A slot that is missing stays missing where its worker id has a note, or the header lists it
//     as used. It is not given out again.
//   - Where Restore has run since known was written, its floor is beyond all of them already.
//
// back is the error that says what happened; nil: nothing is believed. err is why the slot could
// not be repaired. there is the slot when it is.
func (s *space) believe(ctx context.Context, found, known row) (there row, back, err error) {
	h, err := s.anyHeader(ctx)
	if err != nil {
		return found, nil, err
	}
	now, err := s.timeOf(ctx, h.entry)
	if err != nil {
		return found, nil, err
	}
	used := false
	if !found.exists() {
		if used, err = s.used(ctx, h, known.worker); err != nil {
			return found, nil, err
		}
	}
	gap := max(known.Until, now+s.reach(h))
	restored := h.floor() > known.Until && (used || found.Until >= h.floor())
	if used || restored {
		if !restored {
			s.memory.forgot(gap)
		}
		return found, s.wentBack(found, known), nil
	}
	to := found
	to.FencingToken = max(found.FencingToken, known.FencingToken)
	to = to.next("", known.Layout, max(gap, found.Until, h.floor(), s.memory.begin()))
	if !found.exists() && s.numberer == nil { // before it has a slot again
		to.Universe, to.Changes = h.Universe, h.Changes
		if err = s.note(ctx, known.worker, newToken()); err != nil {
			return found, nil, err
		}
	}
	there, err = s.swap(ctx, found, to)
	if errors.Is(err, ErrConflict) || errors.Is(err, storekind.ErrRolledBack) {
		return there, nil, err
	}
	s.memory.forgot(gap)
	return there, s.wentBack(found, known), err
}

// used reports whether a worker id without a slot is never given out again.
func (s *space) used(ctx context.Context, h header, worker int64) (bool, error) {
	if s.numberer == nil {
		if h.Used.has(worker) {
			return true, nil
		}
		e, err := s.get(ctx, noteName(worker))
		return e.Version != "", err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return s.numberer.Used(ctx, worker)
}

// floor returns where the windows of a header that is made anew begin. It is 0 in a store that this
// process has never seen.
func (s *space) floor(ctx context.Context) (int64, error) {
	if s.memory.empty() {
		return 0, nil
	}
	now, err := s.now(ctx)
	if err != nil {
		return 0, err
	}
	s.memory.forgot(now + s.reach(header{}))
	return s.memory.begin(), nil
}

// wentBack returns the error that says how a slot went back.
func (s *space) wentBack(found, known row) error {
	is := "is gone"
	if found.exists() {
		is = fmt.Sprintf("is at fencing token %d of owner %q until %v",
			found.FencingToken, found.Owner, millis(found.Until))
	}
	why := "a backup was restored, a replica promoted that lacks the last changes, or entries " +
		"were deleted or changed"
	if found.FencingToken > known.FencingToken {
		why += ", and the slot claimed from since, or a copy of this process gave the worker id " +
			"back"
	}
	return fmt.Errorf("%w: %w: the slot of worker %d in %s %s, it was at fencing token %d "+
		"until %v: %s; other worker ids and windows may be given out twice; before more processes "+
		"start, run Restore, as \"uid workers restored\" does; see \"A restored backup\" in "+
		"docs/operations.md",
		assigner.ErrClaimLost, assigner.ErrWentBack, known.worker, place(s.store), is,
		known.FencingToken, millis(known.Until), why)
}
