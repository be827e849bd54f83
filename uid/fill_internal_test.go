package uid

import (
	"slices"
	"testing"
)

// TestCount sets slices of all lengths around the eight ids that it sets in one turn.
func TestCount(t *testing.T) {
	t.Parallel()
	for _, bits := range []uint{0, 3} {
		for n := range 40 {
			ids := make([]ID, n+1)
			ids[n] = -7
			count(ids[:n], 1000, bits)
			for i, id := range ids[:n] {
				if want := ID(1000+i) << bits; id != want {
					t.Fatalf("id %d of %d with %d gene bits is %d, want %d", i, n, bits, id, want)
				}
			}
			if ids[n] != -7 {
				t.Fatalf("%d ids with %d gene bits: one more was set, to %d", n, bits, ids[n])
			}
		}
	}
}

// TestCountRuns takes all lengths of ids from runs that follow one another and runs that do not.
// Only the first one is not begun at its head.
func TestCountRuns(t *testing.T) {
	t.Parallel()
	c := &Cached{core: &core{timeline: &timeline{}}, composer: &composer{runLen: 4}}
	all := []ID{10, 11, 12, 13, 14, 15, 20, 21, 22, 23, 40, 41, 42, 43, 44, 45, 46, 47}
	for n := range len(all) + 3 {
		ids := make([]ID, n)
		got := c.countRuns(ids, []int64{8, 12, 20, 40, 44}, 2)
		if want := all[:min(n, len(all))]; got != len(want) || !slices.Equal(ids[:got], want) {
			t.Errorf("%d ids: got %v, want %v", n, ids[:got], want)
		}
	}
}
