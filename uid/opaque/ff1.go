package opaque

import (
	"crypto/cipher"
	"encoding/binary"
)

// rounds is the number of rounds of FF1's Feistel network.
const rounds = 10

// ff1 is FF1 of NIST SP 800-38G (https://doi.org/10.6028/NIST.SP.800-38G) on numeral strings of 2
// to 63 bits: a keyed permutation of the numbers [0, 1<<bits). It is immutable.
//
// A round is the CBC-MAC of two strings, P and Q. P is constant, and so is Q but for the number of
// the round and one half of the numeral string, which lie in its last block. The sum up to that
// block is computed once, so a round costs one block of AES however long the tweak is.
type ff1 struct {
	block  cipher.Block
	right  uint   // bits of the right half; the left one has as many or one less
	left   uint   // bits of the left half
	number uint   // the place of the round's number in lo
	hi, lo uint64 // the sum before the last block is encrypted, less the round's number and half
}

// newFF1 returns the permutation of [0, 1<<bits) by block and tweak.
func newFF1(block cipher.Block, bits uint, tweak string) ff1 {
	f := ff1{block: block, left: bits / 2, right: bits - bits/2}
	half := int(f.right+7) / 8 // bytes
	f.number = uint(8 * half)

	// P: version 1, method 2, addition 1, radix 2, the rounds, the left half's length, and two
	// lengths.
	q := []byte{1, 2, 1, 0, 0, 2, rounds, byte(f.left)}
	q = binary.BigEndian.AppendUint32(q, uint32(bits))
	q = binary.BigEndian.AppendUint32(q, uint32(len(tweak)))
	// Q: the tweak, zeros that fill its last block, the round's number and a half.
	q = append(q, tweak...)
	q = append(q, make([]byte, (31-half-len(tweak)%16)%16+1+half)...)

	sum := make([]byte, 16)
	for i, b := range q {
		if i > 0 && i%16 == 0 {
			block.Encrypt(sum, sum)
		}
		sum[i%16] ^= b
	}
	f.hi, f.lo = binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])
	return f
}

// encrypt returns the number that n, below 1<<bits, is mapped to.
func (f *ff1) encrypt(n uint64) uint64 {
	buf := make([]byte, 16)
	a, b := n>>f.right, n&(1<<f.right-1)
	for i := uint64(0); i < rounds; i += 2 {
		a = (a + f.round(buf, i, b)) & (1<<f.left - 1)
		b = (b + f.round(buf, i+1, a)) & (1<<f.right - 1)
	}
	return a<<f.right | b
}

// decrypt returns the number that encrypt maps to n.
func (f *ff1) decrypt(n uint64) uint64 {
	buf := make([]byte, 16)
	a, b := n>>f.right, n&(1<<f.right-1)
	for i := uint64(rounds); i > 0; i -= 2 {
		b = (b - f.round(buf, i-1, a)) & (1<<f.right - 1)
		a = (a - f.round(buf, i-2, b)) & (1<<f.left - 1)
	}
	return a<<f.right | b
}

// round returns what round i adds to one half, given the other. Any number of low bits may be used.
func (f *ff1) round(buf []byte, i, half uint64) uint64 {
	binary.BigEndian.PutUint64(buf, f.hi)
	binary.BigEndian.PutUint64(buf[8:], f.lo^i<<f.number^half)
	f.block.Encrypt(buf, buf)
	return binary.BigEndian.Uint64(buf)
}
