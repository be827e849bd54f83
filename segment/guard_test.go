package segment

import (
	"errors"
	"math/rand/v2"
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

// TestGuardOverlap: the word of a source that ranges are of different origins, or that they are
// not, does not make their ids different.
func TestGuardOverlap(t *testing.T) {
	t.Parallel()
	const high = 1 << 40
	for name, tt := range map[string]struct {
		admitted []Range
		refused  []Range
	}{
		"same range, growing origin": {[]Range{{From: 1, To: 1001}},
			[]Range{{From: 1, To: 1001, Origin: 1}, {From: 1, To: 1001, Origin: 2}}},
		"overlap": {[]Range{{From: 1000, To: 2000}, {From: 0, To: 1000, Origin: 1}},
			[]Range{{From: 1500, To: 2500, Origin: 2}, {From: 500, To: 1001, Origin: 3}}},
		"steps that keep apart": {[]Range{{From: 1, To: 1000, Stride: 2},
			{From: 2, To: 1000, Stride: 2, Origin: 1}}, []Range{{From: 3, To: 9, Stride: 2, Origin: 2}}},
		"steps with a common part": {[]Range{{From: 1, To: 1000, Stride: 4},
			{From: 2, To: 1000, Stride: 6, Origin: 1}}, []Range{{From: 5, To: 9, Stride: 6, Origin: 2}}},
		"steps without one": {[]Range{{From: 1, To: 1000, Stride: 4}},
			[]Range{{From: 2, To: 1000, Stride: 3, Origin: 1}}},
		"a plan for three servers": {[]Range{{From: 1, To: 100, Stride: 2},
			{From: 2, To: 51, Stride: 2, Origin: 1}, {From: 1000, To: 1100, Stride: 3},
			{From: 52, To: 101, Stride: 2, Origin: 1}, {From: 1001, To: 1101, Stride: 3, Origin: 1},
			{From: 1002, To: 1102, Stride: 3, Origin: 2}},
			[]Range{{From: 1003, To: 1099, Stride: 3, Origin: 3}}},
		"raised, the other not": {[]Range{{From: 0, To: 10}, {From: 20, To: 30, Origin: 1},
			{From: high, To: high + 10}, {From: 30, To: 40, Origin: 1}},
			[]Range{{From: high + 5, To: high + 15, Origin: 1}}},
		"raised too often": {[]Range{{From: 0, To: 1}, {From: 1 * high, To: 1*high + 1},
			{From: 2 * high, To: 2*high + 1}, {From: 3 * high, To: 3*high + 1},
			{From: 4 * high, To: 4*high + 1}, {From: 5 * high, To: 5*high + 1},
			{From: 6 * high, To: 6*high + 1}, {From: 7 * high, To: 7*high + 1},
			{From: 8 * high, To: 8*high + 1}, {From: 9 * high, To: 9*high + 1}},
			[]Range{{From: 0, To: 1, Origin: 1}, {From: high, To: high + 1, Origin: 1},
				{From: 5 * high, To: 5*high + 1, Origin: 1}}},
		"far too many": {nil, []Range{{From: 1, To: 2, Origin: 65536}}},
	} {
		var g guard
		for _, r := range tt.admitted {
			if err := g.admit(r); err != nil {
				t.Errorf("%s: admit(%v of %d) = %v, want nil", name, r, r.Origin, err)
			}
		}
		for _, r := range tt.refused {
			if err := g.admit(r); !errors.Is(err, ErrBadRange) {
				t.Errorf("%s: admit(%v of %d) = %v, want ErrBadRange", name, r, r.Origin, err)
			}
		}
	}
}

// TestGuardIDs admits ranges at random and records each id: none is repeated.
func TestGuardIDs(t *testing.T) {
	t.Parallel()
	const seeds = 200
	admitted, refused := 0, 0
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 1))
		var g guard
		seen := map[int64]Range{}
		for range 200 {
			from := random.Int64N(3_000) + random.Int64N(3)*(repairGap+1_000)
			r := Range{From: from, To: from + 1 + random.Int64N(60), Stride: 1 + random.Int64N(6),
				Origin: random.IntN(6)}
			if g.admit(r) != nil {
				refused++
				continue
			}
			admitted++
			for id := r.From; id < r.To; id += r.Stride {
				if was, twice := seen[id]; twice {
					t.Fatalf("seed %d: %d is in %v of %d and in %v of %d", seed, id, was, was.Origin, r,
						r.Origin)
				}
				seen[id] = r
			}
		}
		for i, o := range g.origins {
			if len(o.used) > maxStretches {
				t.Fatalf("seed %d: origin %d has %d stretches, want at most %d", seed, i, len(o.used),
					maxStretches)
			}
		}
	}
	if admitted < 10*seeds || refused < 10*seeds {
		t.Errorf("%d ranges admitted and %d refused, want many of each", admitted, refused)
	}
}
