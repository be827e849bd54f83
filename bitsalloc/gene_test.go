package bitsalloc_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/bitsalloc/compat"
)

func TestGeneOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		key  int64
		bits int
		want int64
	}{
		{0, 2, 0},
		{6, 2, 2},
		{7, 2, 3},
		{1 << 40, 4, 0},
		{-1, 2, 3}, // the remainder would be -1
		{-4, 2, 0},
		{math.MinInt64, 4, 0},
		{math.MaxInt64, 4, 15},
		{12345, 0, 0},
		{12345, -1, 0},
		{-1, 61, 1<<61 - 1},
		{-1, 62, 1<<62 - 1},
		{-1, 63, 1<<62 - 1},
		{-1, math.MaxInt, 1<<62 - 1},
		{-1, math.MinInt, 0},
	} {
		g := bitsalloc.GeneOf(tc.key, tc.bits)
		if g.Shard() != tc.want {
			t.Errorf("GeneOf(%d, %d) = %d, want %d", tc.key, tc.bits, g.Shard(), tc.want)
		}
	}
	if bitsalloc.GeneOf(1, 2) == bitsalloc.GeneOf(1, 4) {
		t.Error("genes of different widths are equal")
	}
	if bitsalloc.GeneOf(1, 2) != bitsalloc.GeneOf(-3, 2) {
		t.Error("genes of keys with equal low bits differ")
	}
}

// Where the original puts the gene on an id of a generator that counts by one, the ids that differ
// in the low bits alone become one. Here the gene has a place of its own: every (seq, gene) is
// another id, and only a layout that has the place accepts a gene.
func TestGenesNeverCollide(t *testing.T) {
	t.Parallel()
	if a, b := int64(1000)>>2<<2|2, int64(1001)>>2<<2|2; a != b {
		t.Fatalf("the original's formula gives %d and %d for neighbours, want the collision that "+
			"this test is about", a, b)
	}
	a := mustNew(t, compat.ShardGene())
	seen := make([]bool, 4096) // the low 12 bits: sequence and gene
	for seq := range a.MaxSeq() + 1 {
		for key := range int64(4) {
			id, err := a.ComposeGene(1, 0, seq, bitsalloc.GeneOf(key, 2))
			if err != nil {
				t.Fatal(err)
			}
			if seen[id&4095] {
				t.Fatalf("sequence %d with gene %d repeats the id %d", seq, key, id)
			}
			seen[id&4095] = true
			if id&3 != key || id>>22 != 1 {
				t.Fatalf("ComposeGene(1, 0, %d, %d) = %d: wrong gene or tick", seq, key, id)
			}
		}
	}
	for low, ok := range seen {
		if !ok {
			t.Errorf("no (seq, gene) has the low bits %d", low)
		}
	}
}

// A gene of another width is refused for every key, not just for the keys that would not fit.
func TestComposeGeneRefuses(t *testing.T) {
	t.Parallel()
	plain, four := mustNew(t, compat.Twitter()), mustNew(t, compat.ShardGene())
	for _, tc := range []struct {
		name string
		a    *bitsalloc.Allocator
		tick int64
		g    bitsalloc.Gene
		want string
	}{
		{"no room", plain, 1, bitsalloc.GeneOf(0, 2), "gene has 2 bits, want the layout's GeneBits, 0"},
		{"too wide", four, 1, bitsalloc.GeneOf(0, 4), "gene has 4 bits, want the layout's GeneBits, 2"},
		{"too narrow", four, 1, bitsalloc.GeneOf(0, 1), "gene has 1 bits, want the layout's GeneBits, 2"},
		{"none", four, 1, bitsalloc.Gene{}, "gene has 0 bits, want the layout's GeneBits, 2"},
		{"another field", four, -1, bitsalloc.GeneOf(0, 2), "tick is -1, want 0..2199023255551"},
	} {
		id, err := tc.a.ComposeGene(tc.tick, 0, 0, tc.g)
		if id != 0 || !errors.Is(err, bitsalloc.ErrRange) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: ComposeGene = %d, %v, want an ErrRange that says %q", tc.name, id, err, tc.want)
		}
	}
	// A layout without gene bits has one gene, of no width.
	if id, err := plain.ComposeGene(1, 2, 3, bitsalloc.GeneOf(77, 0)); err != nil || id != 1<<22|2<<12|3 {
		t.Errorf("ComposeGene with a gene of no bits = %d, %v, want %d", id, err, 1<<22|2<<12|3)
	}
}

// Id and key route to the same shard at every number of shards from 1 to 2^GeneBits, for negative
// keys as well, and all shards are reached. The original defines the shard by the remainder, which
// is negative for negative keys.
func TestGeneRoutes(t *testing.T) {
	t.Parallel()
	const width = 4
	a := mustNew(t, compat.Twitter().WithGene(width))
	for bits := range width + 1 {
		reached := make([]bool, 1<<bits)
		for key := int64(-1000); key < 1000; key++ {
			id, err := a.ComposeGene(99, 1, (key+1000)&a.MaxSeq(), bitsalloc.GeneOf(key, width))
			if err != nil {
				t.Fatal(err)
			}
			byKey, byID := bitsalloc.GeneOf(key, bits), bitsalloc.GeneOf(id, bits)
			if byKey != byID {
				t.Fatalf("%d bits: key %d goes to shard %v, its id %d to %v", bits, key, byKey, id, byID)
			}
			if key >= 0 && byKey.Shard() != key%(1<<bits) {
				t.Fatalf("%d bits: key %d goes to shard %v, want the remainder", bits, key, byKey)
			}
			reached[byKey.Shard()] = true
		}
		for shard, ok := range reached {
			if !ok {
				t.Errorf("%d bits: no key reaches shard %d", bits, shard)
			}
		}
	}
}

// Doubling divides shard s of 2^n into s and s+2^n, with ids that were made before it; a count that
// is not a power of two sends id and key apart, which is why there is no such number.
func TestGeneGrowsByDoubling(t *testing.T) {
	t.Parallel()
	const width = 4
	a := mustNew(t, bitsalloc.Layout{}.WithGene(width))
	apart := 0
	for key := range int64(4096) {
		id, err := a.ComposeGene(5, 6, key%512, bitsalloc.GeneOf(key, width))
		if err != nil {
			t.Fatal(err)
		}
		for bits := range width {
			old, grown := bitsalloc.GeneOf(id, bits).Shard(), bitsalloc.GeneOf(id, bits+1).Shard()
			if grown != old && grown != old+1<<bits {
				t.Fatalf("id %d moves from shard %d of %d to %d of %d", id, old, 1<<bits, grown, 2<<bits)
			}
		}
		if id%6 != key%6 {
			apart++
		}
	}
	if apart == 0 {
		t.Error("six shards keep ids and keys together, so the test's ids are no test")
	}
}

// In the original a raw id's low two bits are 0 or 1, depending on the millisecond. Here they are
// the gene and nothing else, so that with genes all residues are used alike, whatever tick and
// sequence are.
func TestGeneResidues(t *testing.T) {
	t.Parallel()
	a := mustNew(t, compat.ShardGene())
	for tick := range int64(4) {
		for seq := range int64(8) {
			if id, err := a.Compose(tick, 1, seq); err != nil || id%4 != 0 {
				t.Errorf("Compose(%d, 1, %d) = %d, %v, want the gene bits free", tick, seq, id, err)
			}
			for key := range int64(4) {
				if id, err := a.ComposeGene(tick, 1, seq, bitsalloc.GeneOf(key, 2)); err != nil || id%4 != key {
					t.Errorf("ComposeGene(%d, 1, %d) for %d = %d, %v, want residue %d", tick, seq, key, id, err, key)
				}
			}
		}
	}
}
