package slots

import "time"

// SetClock replaces the process's clock. It must be called before the first Assign.
func (a *Assigner) SetClock(now func() time.Time) { a.space.local = now }
