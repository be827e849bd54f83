package compat_test

import (
	"math"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

// The shard snowflake counts from 2017-03-10T02:06:50.226Z and ends on 2086-11-14.
func TestShardGeneEpoch(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.ShardGene())
	if got := a.TimeAt(0).UnixMilli(); got != 1489111610226 {
		t.Errorf("tick 0 begins at %d ms, want 1489111610226", got)
	}
	if got, want := a.Expires().Format(time.DateOnly), "2086-11-14"; got != want {
		t.Errorf("expires on %s, want %s", got, want)
	}
}

// The original's function and vectors: gene(order, user) = ((order >> 2) << 2) | (user & 3). The
// mask is GeneOf; that the order's place is free is the layout's part.
func TestShardGeneVectors(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.ShardGene())
	for _, tc := range []struct{ order, user, want int64 }{
		{7, 6, 6},
		{-1, 2, -2},
		{0, -1, 3},
	} {
		g := bitsalloc.GeneOf(tc.user, 2)
		if got := tc.order>>2<<2 | g.Shard(); got != tc.want {
			t.Errorf("gene(%d, %d) = %d, want %d", tc.order, tc.user, got, tc.want)
		}
		// The composed form gives the same number, apart from the sign, which no id has.
		tick, worker, seq, _ := a.Split(tc.order)
		got, err := a.ComposeGene(tick, worker, seq, g)
		if want := tc.want & math.MaxInt64; err != nil || got != want {
			t.Errorf("ComposeGene of %d for user %d = %d, %v, want %d", tc.order, tc.user, got, err, want)
		}
	}
}

// The original's layout leaves 1,024 ids a millisecond, spaced by 4, at the places where Twitter's
// fields are.
func TestShardGeneLayout(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.ShardGene())
	if got := a.MaxSeq() + 1; got != 1024 {
		t.Errorf("ids a millisecond are %d, want 1024", got)
	}
	worker, err := compat.Worker(9, 21)
	if err != nil {
		t.Fatal(err)
	}
	for seq := range a.MaxSeq() + 1 {
		got, err := a.Compose(123456789, worker, seq)
		if want := int64(123456789)<<22 | 9<<17 | 21<<12 | seq*4; err != nil || got != want {
			t.Fatalf("Compose(123456789, 9/21, %d) = %d, %v, want %d", seq, got, err, want)
		}
	}
}
