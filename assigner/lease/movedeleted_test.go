package lease_test

import (
	"context"
	"testing"
	"testing/synctest"
)

// emptied is a store whose slots 5 and 7 were deleted by hand. It says so page by page, and gets no
// answer to the second request.
type emptied struct {
	*keyed
	calls int
}

func (e *emptied) Deleted(_ context.Context, first int64) (ids []int64, next int64, err error) {
	switch e.calls++; {
	case e.calls == 2:
		return nil, 0, errLost
	case first == 0:
		return []int64{5}, 6, nil
	case first == 6:
		return []int64{7}, 8, nil
	}
	return nil, 0, nil
}

// TestMoveDeleted: the target gives out no worker id whose slot was deleted in the source, because
// nobody knows when its window ends.
func TestMoveDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &emptied{keyed: &keyed{ambush: newAmbush(), highest: -1}}, named{&memory{}, "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		mustMove(t, from, to)
		for range 10 {
			if c := mustAssign(t, bound(t, to, moveOne, nil)); c.Worker() == 5 || c.Worker() == 7 {
				t.Errorf("worker %d is given out again", c.Worker())
			}
		}
		if from.calls != 4 {
			t.Errorf("%d requests, want 4: one for each page, and one again", from.calls)
		}
	})
}
