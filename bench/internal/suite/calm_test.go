package suite

import (
	"errors"
	"testing"
)

func TestCalmest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		disturbances []int64 // in each call
		n            int
		want, calls  int
	}{
		{[]int64{0}, 5, 0, 1},
		{[]int64{2, 1, 0, 0}, 5, 2, 3},
		{[]int64{4, 2, 3, 2, 5}, 5, 1, 5},
		{[]int64{7, 9}, 1, 0, 1},
	} {
		calls, count := 0, int64(0)
		got, err := calmest(tt.n, func() int64 { return count }, func() (int, error) {
			count += tt.disturbances[calls]
			calls++
			return calls - 1, nil
		})
		if err != nil || got != tt.want || calls != tt.calls {
			t.Errorf("%v: call %d of %d, %v, want call %d of %d", tt.disturbances, got, calls, err, tt.want, tt.calls)
		}
	}
	failed := errors.New("failed")
	if _, err := calmest(3, preemptions, func() (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
}
