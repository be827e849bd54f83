package uid_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/uidring/uidring/uid"
)

// TestScatter compares with the definition, bit by bit, and inverts.
func TestScatter(t *testing.T) {
	t.Parallel()
	ids := []uid.ID{0, 1, 2, math.MaxInt64, 1 << 62, 968331369367265352}
	for range 1000 {
		ids = append(ids, uid.ID(rand.Int64()))
	}
	for _, id := range ids {
		var want uid.ID
		for bit := range 63 {
			want |= (id >> bit & 1) << (62 - bit)
		}
		if got := id.Scatter(); got != want || got.Scatter() != id {
			t.Fatalf("%d scatters to %d and back to %d, want %d", int64(id), int64(got),
				int64(got.Scatter()), int64(want))
		}
	}
	if got := uid.ID(-5).Scatter(); got >= 0 || got.Scatter() != -5 {
		t.Errorf("-5 scatters to %d, want a negative number that scatters back", int64(got))
	}
}
