// Package ff1 permutes numbers by a key: FF1 of NIST SP 800-38G
// (https://doi.org/10.6028/NIST.SP.800-38G). It hides ids in package opaque and counters in package
// number.
package ff1

import (
	"crypto/cipher"
	"encoding/binary"
	"math/bits"
	"sync"
)

// rounds is the number of rounds of FF1's Feistel network.
const rounds = 10

// Permutation is FF1 on numeral strings of one radix and width, as numbers: a keyed permutation of
// [0, radix^width), which is at most 2^63. It is safe for concurrent use. Each half of a string
// fits 64 bits.
//
// A round is the CBC-MAC of two strings, P and Q. Both are constant but for the number of the round
// and one half of the numeral string, which lie in the last block. The sum up to that block is
// computed once, so a round costs one block of AES however long the tweak is.
type Permutation struct {
	block       cipher.Block
	left, right uint64    // radix to the power of the length of each half
	bytes       int       // b: bytes of the half that a round is fed with
	sum         scratch   // before the last block is encrypted, less the round and the half
	scratches   sync.Pool // of *scratch: as arguments of block they are on the heap
}

// scratch is the block that a round works on.
type scratch [16]byte

// New returns the permutation by block, which has blocks of 16 bytes, and tweak. width is at
// least 2.
func New(block cipher.Block, radix uint64, width int, tweak []byte) *Permutation {
	u := width / 2
	v := width - u
	f := &Permutation{block: block, left: power(radix, u), right: power(radix, v)}
	f.scratches.New = func() any { return new(scratch) }
	f.bytes = (bits.Len64(f.right-1) + 7) / 8

	// P: version 1, method 2, addition 1, the radix, the rounds, the left half's length, and two
	// lengths.
	q := []byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), rounds, byte(u)}
	q = binary.BigEndian.AppendUint32(q, uint32(width))
	q = binary.BigEndian.AppendUint32(q, uint32(len(tweak)))
	// Q: the tweak, zeros that fill its last block, the round's number and a half.
	q = append(q, tweak...)
	q = append(q, make([]byte, (31-f.bytes-len(tweak)%16)%16+1+f.bytes)...)
	sum := make([]byte, 16)
	for i, b := range q {
		if i > 0 && i%16 == 0 {
			block.Encrypt(sum, sum)
		}
		sum[i%16] ^= b
	}
	copy(f.sum[:], sum)
	return f
}

// power returns base to the power of n.
func power(base uint64, n int) uint64 {
	p := uint64(1)
	for range n {
		p *= base
	}
	return p
}

// Encrypt returns the number that n, below radix^width, is mapped to.
func (f *Permutation) Encrypt(n uint64) uint64 {
	s := f.scratches.Get().(*scratch) //nolint:errcheck,forcetypeassert // all that it holds
	a, b := n/f.right, n%f.right
	for i := 0; i < rounds; i += 2 {
		a = add(a, f.round(s, i, b, f.left), f.left)
		b = add(b, f.round(s, i+1, a, f.right), f.right)
	}
	f.scratches.Put(s)
	return a*f.right + b
}

// Decrypt returns the number that Encrypt maps to n.
func (f *Permutation) Decrypt(n uint64) uint64 {
	s := f.scratches.Get().(*scratch) //nolint:errcheck,forcetypeassert // all that it holds
	a, b := n/f.right, n%f.right
	for i := rounds - 1; i > 0; i -= 2 {
		b = add(b, f.right-f.round(s, i, a, f.right), f.right)
		a = add(a, f.left-f.round(s, i-1, b, f.left), f.left)
	}
	f.scratches.Put(s)
	return a*f.right + b
}

// add returns the sum of two numbers of up to m, modulo m, which is below 2^63.
func add(a, b, m uint64) uint64 {
	if a += b; a >= m {
		a -= m
	}
	return a
}

// round returns what round i adds to one half, given the other, modulo m.
func (f *Permutation) round(buf *scratch, i int, half, m uint64) uint64 {
	*buf = f.sum
	buf[15-f.bytes] ^= byte(i)
	for at := 15; at > 15-f.bytes; at-- {
		buf[at] ^= byte(half)
		half >>= 8
	}
	f.block.Encrypt(buf[:], buf[:])
	// S is 4*ceil(b/4)+4 bytes of the sum, so 8 or 12: b is at most 8.
	hi := binary.BigEndian.Uint64(buf[:8])
	switch {
	case f.bytes > 4:
	case m&(m-1) == 0: // radix 2, without a division
		return hi & (m - 1)
	default:
		return hi % m
	}
	lo := uint64(binary.BigEndian.Uint32(buf[8:]))
	// The 96 bits are hi<<32 | lo.
	return bits.Rem64(hi>>32, hi<<32|lo, m)
}
