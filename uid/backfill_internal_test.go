package uid

import (
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/assignertest"
)

// TestBackfillLocks: Close waits for a call that is making an id, and the other way round.
func TestBackfillLocks(t *testing.T) {
	t.Parallel()
	b, err := NewBackfill(t.Context(), assignertest.Static(1), nil)
	if err != nil {
		t.Fatal(err)
	}
	waitsFor(t, "At", &b.mu, func() { _, _ = b.At(t.Context(), time.Now()) })
	waitsFor(t, "Close", &b.mu, func() { _ = b.Close() })
}
