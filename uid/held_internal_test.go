package uid

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/uidring/uidring/internal/claimtest"
)

// TestOtherLanes has callers of one seat use everything up: a call fails only when no lane has an
// id. The ids of a Fill increase all the same, and none is repeated.
func TestOtherLanes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3, 100} {
		c, err := NewCached(t.Context(), claimtest.Static(1), &Options{Lanes: 8, RunLength: 16,
			MaxLead: 2 * time.Second, TakePolicy: TakeReject, ScheduleInterval: 100 * time.Millisecond,
			MaxLag: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		seen := map[ID]bool{}
		for seat := range uint64(8) { // every lane has the rest of a run
			var one [1]ID
			if _, err := c.fill(t.Context(), seat, one[:]); err != nil {
				t.Fatal(err)
			}
			seen[one[0]] = true
		}
		for err = nil; !errors.Is(err, ErrLead); {
			ids := make([]ID, size)
			var n int
			n, err = c.fill(t.Context(), 0, ids)
			if !slices.IsSorted(ids[:n]) {
				t.Fatalf("a Fill has the ids %v, want rising ones", ids[:n])
			}
			for _, id := range ids[:n] {
				if seen[id] {
					t.Fatalf("id %v was repeated", id)
				}
				seen[id] = true
			}
			switch {
			case n > 0:
				err = nil // a Fill that has ids does not change lanes
			case !errors.Is(err, ErrLead) && !errors.Is(err, ErrEmpty):
				t.Fatalf("error %v, want ErrLead or ErrEmpty", err)
			case errors.Is(err, ErrLead) && c.held() != nil:
				t.Errorf("a Fill of %d fails with %v while a lane has ids", size, err)
			}
		}
	}
}
