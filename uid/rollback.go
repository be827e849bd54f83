package uid

import "time"

// Rollback says what Default does when the clock is behind the last tick it used. The zero value
// refuses: it fails with ErrClockBack at once, as Baidu and Twitter do. None of the three can
// make an id twice: positions only grow, whatever the clock does. They differ in how long a caller
// waits and how far an id's time may be ahead of the clock:
//
//	          within the bound            beyond it
//	zero      error                       error
//	Wait      waits for the clock         error
//	Hold      ids of the last tick used   error
type Rollback struct {
	mode  rollbackMode
	bound time.Duration // how far back the clock may go; unused by rollbackRefuse
}

// rollbackMode is which of the three a Rollback is.
type rollbackMode uint8

const (
	rollbackRefuse rollbackMode = iota
	rollbackWait
	rollbackHold
)

// RollbackWait waits on a timer until the clock has caught up when that takes bound or less, and
// fails with ErrClockBack when it takes longer. Leaf's choice is 5 ms.
func RollbackWait(bound time.Duration) Rollback { return Rollback{rollbackWait, bound} }

// RollbackHold keeps stamping the last tick used while the clock is behind it by less than bound,
// and fails with ErrClockBack otherwise. When that tick's sequence is used up the caller waits
// for the clock. hutool's choice is 2,000 ms.
func RollbackHold(bound time.Duration) Rollback { return Rollback{rollbackHold, bound} }

// validate refuses a bound that permits nothing: the zero value says that.
func (r Rollback) validate() error {
	if r.mode != rollbackRefuse && r.bound <= 0 {
		return badOption("Rollback's bound", r.bound, "above 0")
	}
	return nil
}
