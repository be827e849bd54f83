//go:build !386 && !arm

package uid_test

import (
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/claimtest"
	"github.com/uidring/uidring/uid"
)

// TestStatsSaturate makes a ring of more ids than an int64 counts. Where an int has 32 bits no ring has
// that many, because a run is an int's ids at most.
func TestStatsSaturate(t *testing.T) {
	t.Parallel()
	l := bitsalloc.Layout{TimeBits: 1, SeqBits: 62, Tick: 365 * 24 * time.Hour}
	for _, boost := range []int{1, 4} { // 2^63 and 2^66 ids
		c := uid.Open(t, uid.NewCachedAt, claimtest.Static(0),
			uid.Both{Layout: l, BoostPower: boost}, uid.NewTestClock())
		if s := c.Stats(); s.Cap != 1<<63-1 || s.Len < 0 || s.Len > s.Cap {
			t.Errorf("Len, Cap = %d, %d, want the largest int64 for Cap", s.Len, s.Cap)
		}
	}
}
