package lease_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uidring/uidring/assigner/lease"
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
		return []int64{5}, 499_999, nil
	case first == 499_999:
		return []int64{7}, 500_000, nil
	case first == 500_000:
		return nil, 999_999, nil
	case first == 999_999:
		return nil, 1_000_001, nil
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
		var lines []string
		o := &lease.MoveOptions{Report: func(line string) {
			if strings.HasPrefix(line, "looked") {
				lines = append(lines, line)
			}
		}}
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), o)
		const looked = "looked for deleted slots up to worker id "
		if err != nil || !slices.Equal(lines, []string{looked + "500000", looked + "1000001"}) {
			t.Errorf("%v, and it reports %q, want a line for each half a million", err, lines)
		}
		for range 10 {
			if c := mustAssign(t, bound(t, to, moveOne, nil)); c.Worker() == 5 || c.Worker() == 7 {
				t.Errorf("worker %d is given out again", c.Worker())
			}
		}
		if from.calls != 6 {
			t.Errorf("%d requests, want 6: one for each page, and one again", from.calls)
		}
	})
}
