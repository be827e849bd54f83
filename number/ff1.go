package number

import (
	"crypto/cipher"
	"encoding/binary"
	"math/bits"
	"sync"
)

// rounds is the number of rounds of FF1's Feistel network.
const rounds = 10

// ff1 is FF1 of NIST SP 800-38G (https://doi.org/10.6028/NIST.SP.800-38G) on numeral strings of one
// radix and width, as numbers: a keyed permutation of [0, radix^width). It is immutable. Each half
// of a string fits 64 bits.
//
// A round is the CBC-MAC of two strings, P and Q. Both are constant but for the number of the round
// and one half of the numeral string, which lie in the last block. The sum up to that block is
// computed once, so a round costs one block of AES however long the tweak is.
type ff1 struct {
	block       cipher.Block
	left, right uint64  // radix to the power of the length of each half
	bytes       int     // b: bytes of the half that a round is fed with
	sum         scratch // before the last block is encrypted, less the round and the half
}

// newFF1 returns the permutation by block and tweak. width is 2 or more.
func newFF1(block cipher.Block, radix uint64, width int, tweak []byte) *ff1 {
	u := width / 2
	v := width - u
	f := &ff1{block: block, left: power(radix, u), right: power(radix, v)}
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

// encrypt returns the number that n, below radix^width, is mapped to. scratch is overwritten.
func (f *ff1) encrypt(n uint64, scratch *scratch) uint64 {
	a, b := n/f.right, n%f.right
	for i := 0; i < rounds; i += 2 {
		a = add(a, f.round(scratch, i, b, f.left), f.left)
		b = add(b, f.round(scratch, i+1, a, f.right), f.right)
	}
	return a*f.right + b
}

// decrypt returns the number that encrypt maps to n.
func (f *ff1) decrypt(n uint64, scratch *scratch) uint64 {
	a, b := n/f.right, n%f.right
	for i := rounds - 1; i > 0; i -= 2 {
		b = add(b, f.right-f.round(scratch, i, a, f.right), f.right)
		a = add(a, f.left-f.round(scratch, i-1, b, f.left), f.left)
	}
	return a*f.right + b
}

// add returns the sum of two numbers of up to m, modulo m, which is below 2^63.
func add(a, b, m uint64) uint64 {
	if a += b; a >= m {
		a -= m
	}
	return a
}

// scratch is the block that a round works on.
type scratch [16]byte

// newScratches returns the pool of those that no call uses. As arguments of an interface they are
// on the heap.
func newScratches() *sync.Pool { return &sync.Pool{New: func() any { return new(scratch) }} }

// round returns what round i adds to one half, given the other, modulo m.
func (f *ff1) round(s *scratch, i int, half, m uint64) uint64 {
	buf := s
	*buf = f.sum
	buf[15-f.bytes] ^= byte(i)
	for at := 15; at > 15-f.bytes; at-- {
		buf[at] ^= byte(half)
		half >>= 8
	}
	f.block.Encrypt(buf[:], buf[:])
	// S is 4*ceil(b/4)+4 bytes of the sum, so 8 or 12: b is at most 8.
	hi := binary.BigEndian.Uint64(buf[:8])
	if f.bytes <= 4 {
		return hi % m
	}
	lo := uint64(binary.BigEndian.Uint32(buf[8:]))
	// The 96 bits are hi<<32 | lo.
	return bits.Rem64(hi>>32, hi<<32|lo, m)
}
