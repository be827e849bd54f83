package uid

import "time"

// Rollback says what Default does when the clock is behind the last tick it used. The zero value is Refuse.
//
// None of the three can make an id twice: positions only grow, whatever the clock does.
type Rollback struct {
	mode  rollbackMode
	bound time.Duration
}

type rollbackMode uint8

const (
	rollbackRefuse rollbackMode = iota
	rollbackWait
	rollbackHold
)

// Refuse fails with a *ClockBackError at once, as Baidu and Twitter do.
func Refuse() Rollback { return Rollback{} }

// WaitUpTo waits on a timer until the clock has caught up when that takes bound or less, and fails with a
// *ClockBackError when it takes longer. Leaf's choice is 5 ms.
func WaitUpTo(bound time.Duration) Rollback { return Rollback{rollbackWait, bound} }

// HoldUpTo keeps stamping the last tick used while the clock is behind it by less than bound, and fails with a
// *ClockBackError otherwise. When that tick's sequence is used up the caller waits for the clock. hutool's choice is
// 2,000 ms.
func HoldUpTo(bound time.Duration) Rollback { return Rollback{rollbackHold, bound} }

func (r Rollback) validate() error {
	if r.mode != rollbackRefuse && r.bound <= 0 {
		return badOption("Rollback's bound", r.bound, "above 0")
	}
	return nil
}
