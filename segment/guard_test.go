package segment

import (
	"errors"
	"testing"
)

// TestGuardOrigins: a server whose counter went back is refused until its own counter was raised,
// whatever ranges come from the others, and the others go on.
func TestGuardOrigins(t *testing.T) {
	t.Parallel()
	var g guard
	for _, tt := range []struct {
		r    Range
		want error
	}{
		{Range{From: 0, To: 10}, nil},
		{Range{From: 5, To: 15}, ErrRangeWentBack},
		{Range{From: 1000, To: 1010, Origin: 1}, nil},
		{Range{From: 15, To: 25}, ErrRangeWentBack},
		{Range{From: 1010, To: 1020, Origin: 1}, nil},
		{Range{From: repairGap + 9, To: repairGap + 20}, ErrRangeWentBack},
		{Range{From: repairGap + 10, To: repairGap + 20}, nil},
		{Range{From: repairGap + 20, To: repairGap + 30}, nil},
	} {
		if err := g.admit(tt.r); !errors.Is(err, tt.want) {
			t.Errorf("admit(%v) = %v, want %v", tt.r, err, tt.want)
		}
	}
}
