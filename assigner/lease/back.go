package lease

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/assigner"
)

// repair writes what this process knows into a slot of a store that went back: the known end of the
// window, so that the next owner begins there. The slot has no owner then: an owner in between may
// have stamped what this process did, and must not go on. repair returns what is there when it is
// done. ErrConflict means that the slot is no longer what was found.
func (s *space) repair(ctx context.Context, found, known row) (row, error) {
	if found.exists() && found.Until >= known.Until {
		return found, nil
	}
	to := found
	to.Generation = max(found.Generation, known.Generation)
	return s.swap(ctx, found, to.next("", known.Layout, known.Until))
}

// wentBack takes note of what the store may have forgotten, and returns the error that says so. now
// and window are in milliseconds.
func (s *space) wentBack(found, known row, now, window int64) error {
	is := "is gone"
	if found.exists() {
		is = fmt.Sprintf("is at fencing token %d of owner %q until %v",
			found.Generation, found.Owner, millis(found.Until))
	}
	// Restore leaves a slot without an owner and with an end that is beyond all windows. Without
	// such a slot, no claim made here begins before the ends of the windows that may be forgotten.
	// They end as this one does, or a whole Window from now: a window that the store has forgotten
	// is not extended.
	if !found.exists() || found.Owner != "" || found.Until < known.Until {
		s.memory.forgot(max(known.Until, now+window))
	}
	return fmt.Errorf("%w: %w: the slot of worker %d in %s %s, it was at fencing token %d "+
		"until %v: a backup was restored, or entries were deleted or changed; other worker ids "+
		"and windows may be given out twice; see \"A store that went back\" in "+
		"docs/reliability.md",
		assigner.ErrClaimLost, assigner.ErrWentBack, known.worker, place(s.store), is,
		known.Generation, millis(known.Until))
}
