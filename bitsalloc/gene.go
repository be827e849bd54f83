package bitsalloc

import "fmt"

// Gene is the low bits of a key, of a width that it carries with it: what decides the shard of the
// key, and of every id that was made for the key. Genes are equal (==) when width and value are.
//
// A gene goes onto an id only where the id is composed, by the Allocator of a layout whose GeneBits
// has the gene's width: such a layout leaves the low bits of every id free. There is no function
// that overwrites the low bits of a number that exists already, because two ids which differ in
// those bits alone would become one.
type Gene struct {
	value int64
	bits  uint8
}

// GeneOf returns the low bits of key, as the mask key & (2^bits - 1): for a key of 0 or above that
// is key modulo 2^bits, for a negative key it is still 0..2^bits-1, unlike the remainder operator
// of Go and Java. Bits below 0 count as 0, bits above 62 as 62.
//
// The key may be an id that carries a gene of bits or more: it then has the gene, and the shard, of
// the key that it was made for. So orders and their users meet in one shard, whichever of the two a
// query knows.
//
// Bits may grow up to the layout's GeneBits without touching an id: with one bit more, shard s of
// 2^n is divided into the shards s and s+2^n, and no other shard is involved. Shard counts that are
// not a power of two have no such path.
func GeneOf(key int64, bits int) Gene {
	bits = max(0, min(bits, idBits-1))
	return Gene{value: key & (1<<bits - 1), bits: uint8(bits)}
}

// Shard returns the gene as a number from 0 to 2^bits-1, such as the index of a table.
func (g Gene) Shard() int64 { return g.value }

// ComposeGene is Compose with a gene. A gene whose width is not the layout's GeneBits is an error
// that wraps ErrRange, whatever its value: a wider one would lose bits for some keys, a narrower
// one would leave shards empty.
func (a *Allocator) ComposeGene(tick, worker, seq int64, g Gene) (int64, error) {
	if g.bits != a.seqShift { // the sequence begins where the gene ends
		return 0, fmt.Errorf("%w: gene has %d bits, want the layout's GeneBits, %d",
			ErrRange, g.bits, a.seqShift)
	}
	id, err := a.Compose(tick, worker, seq)
	if err != nil {
		return 0, err
	}
	return id | g.value, nil
}
