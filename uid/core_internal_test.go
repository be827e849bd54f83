package uid

import (
	"fmt"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
)

// TestSameKind: a bound is news to callers that wait unless it is of the kind of the one before.
func TestSameKind(t *testing.T) {
	t.Parallel()
	kinds := []error{nil, ErrLead, ErrExhausted, assigner.ErrClaimLost, ErrClaimExpired, assigner.ErrSuperseded,
		errExtending}
	for i, a := range kinds {
		for k, b := range kinds {
			if b != nil {
				b = fmt.Errorf("worker id 1: %w", b)
			}
			if got := sameKind(a, b); got != (i == k) {
				t.Errorf("sameKind(%v, %v) = %v", a, b, got)
			}
		}
	}
	if sameKind(ErrClosed, ErrClosed) {
		t.Error("the end of a generator is no news to callers that wait")
	}
}

// TestUntilLeadAtLeast: a timer for a bound that is gone does not spin.
func TestUntilLeadAtLeast(t *testing.T) {
	t.Parallel()
	d := internalDefault(t, &Both{MaxLead: 3 * time.Second})
	now := time.Now()
	if got := d.untilLead(d.timeline.at(now)); got != 100*time.Microsecond {
		t.Errorf("the current tick is permitted in %v, want 100 µs", got)
	}
	if got := d.untilLead(d.timeline.at(now.Add(time.Hour))); got < 59*time.Minute || got > time.Hour {
		t.Errorf("a tick in an hour is permitted in %v, want an hour less MaxLead", got)
	}
}
