// Package leasehook is what tests of other packages put in the place of the surroundings of package
// lease.
package leasehook

import "time"

// Hooks are the surroundings of an Assigner of package lease.
type Hooks struct {
	Local func() time.Time // the process's clock
}
