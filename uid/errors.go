package uid

import (
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/ringbuffer"
)

// The errors that a caller may want to tell apart, with errors.Is. Permanent ones stay until the generator is replaced.
var (
	// ErrClosed: the generator was closed. Permanent.
	ErrClosed = errors.New("uid: generator is closed")

	// ErrExhausted: the layout's time bits are used up. Permanent.
	ErrExhausted = errors.New("uid: time bits exhausted")

	// ErrLead: the ids are MaxLead ahead of the clock. Passes with time.
	ErrLead = errors.New("uid: too far ahead of the clock")

	// ErrEmpty: the ring is empty and the take policy is Reject. Passes when the padder has run.
	ErrEmpty = ringbuffer.ErrEmpty

	// ErrOptions: an option is out of range; the message names it, its value and the bound.
	ErrOptions = errors.New("uid: invalid options")

	// ErrNoGene: NextGene on a layout without GeneBits. Permanent.
	ErrNoGene = errors.New("uid: the layout has no gene bits")

	// ErrClockBack: the clock went back further than Options.Rollback tolerates; it is always a *ClockBackError. Passes when
	// the clock has caught up.
	ErrClockBack = errors.New("uid: clock went back")

	// ErrClaimLost and ErrClaimExpired: the claim on the worker id could not be extended; see package assigner.
	ErrClaimLost    = assigner.ErrClaimLost
	ErrClaimExpired = assigner.ErrClaimExpired
)

// ClockBackError says how far the clock is behind the newest id.
type ClockBackError struct {
	By    time.Duration // from the clock's tick to the newest id's
	Bound time.Duration // what Options.Rollback tolerates
}

func (e *ClockBackError) Error() string {
	return fmt.Sprintf("%v by %v, tolerated are %v", ErrClockBack, e.By, e.Bound)
}

// Is reports whether target is ErrClockBack.
func (e *ClockBackError) Is(target error) bool { return target == ErrClockBack }
