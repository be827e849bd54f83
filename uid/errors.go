package uid

import (
	"errors"
	"fmt"
	"time"

	"github.com/uidring/uidring/assigner"
)

// The errors that a caller may want to tell apart, with errors.Is. Permanent ones stay until the
// generator is replaced. Two more are the authority's: assigner.ErrClaimLost, which is temporary,
// as the generator claims another worker id, and assigner.ErrSuperseded, which is permanent.
var (
	// ErrClosed: the generator was closed. Permanent.
	ErrClosed = errors.New("uid: generator is closed")

	// ErrExhausted: the layout's time bits are used up. Permanent; another era of the layout, or
	// another layout, goes on.
	ErrExhausted = errors.New("uid: time bits exhausted")

	// ErrLead: the ids are MaxLead ahead of the clock, or the window is used up and a longer one
	// would end beyond the reach of the authority, because one of the two clocks is wrong: see
	// assigner.ErrBeyondReach. Temporary, until the clocks are right or have caught up.
	ErrLead = errors.New("uid: too far ahead of the clock")

	// ErrEmpty: no id is ready and the take policy is TakeReject. Temporary, until the padder has
	// run, or until the extension of the claim that is under way has an answer.
	ErrEmpty = errors.New("uid: no id is ready")

	// ErrOptions: an option is out of range; the message names it, its value and the bound.
	// Constructors return it before they claim a worker id, so that a mistake uses up none.
	ErrOptions = errors.New("uid: invalid options")

	// ErrNoGene: NextGene or FillGene on a layout without GeneBits. Permanent.
	ErrNoGene = errors.New("uid: the layout has no gene bits")

	// ErrClockBack: the clock went back further than DefaultOptions.Rollback tolerates; the message
	// says how far it is behind the newest id. Temporary, until the clock has caught up.
	ErrClockBack = errors.New("uid: clock went back")

	// ErrClaimExpired: the window is used up and could not be extended, mostly because the
	// authority did not answer for a whole window. The generator keeps trying. Temporary. It is
	// never context.DeadlineExceeded as well, even if the authority's answer was: only the end of
	// the caller's own ctx is.
	ErrClaimExpired = errors.New("uid: claim expired")
)

// clockBackError says how far the clock is behind the newest id. It is of the clock as it is
// believed: a jump ahead of more than an hour is held back. Its text is made when it is asked for.
type clockBackError struct {
	By    time.Duration // from the clock's tick to the newest id's: about how long it lasts
	Bound time.Duration // what DefaultOptions.Rollback tolerates
}

func (e *clockBackError) Error() string {
	return fmt.Sprintf("%v by %v, tolerated are %v", ErrClockBack, e.By, e.Bound)
}

func (e *clockBackError) Is(target error) bool { return target == ErrClockBack }

// errCtxEnded marks the end of the caller's ctx where an error has the reason for the wait as well.
// Without it Temporary would take the reason's word, and a server would ask its client to try
// again.
var errCtxEnded = errors.New("uid: no id")

// errRingFull is what PutFail counts and logs.
var errRingFull = errors.New("uid: the ring is full")

// Temporary reports whether a later call on the same generator may succeed without an operator's
// help. A server answers such errors with 503 and a Retry-After. It is false for nil, for the end
// of the caller's ctx, and for errors that are not a generator's, and for the permanent ones.
func Temporary(err error) bool {
	if errors.Is(err, errCtxEnded) || errors.Is(err, assigner.ErrSuperseded) {
		return false
	}
	for _, passing := range []error{ErrLead, ErrEmpty, ErrClockBack, ErrClaimExpired,
		assigner.ErrClaimLost} {
		if errors.Is(err, passing) {
			return true
		}
	}
	return false
}
