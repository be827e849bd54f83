package uid

import (
	"fmt"
	"math"
)

// base62Len is the length of every Base62 text: 62^10 is 8.4e17, less than 2^63, and 62^11 is
// 5.2e19, more than it. Not every text of that length is an id, so ParseBase62 checks the bound.
const base62Len = 11

// base62Digits are in the order of ASCII, which is what makes the texts sort.
const base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Base62 returns the id in base 62, the shortest form of letters and digits: always 11 characters,
// of 0-9, A-Z and a-z in this order. The texts sort bytewise as the numbers do; a collation that
// ignores case does not tell them apart, and people who read them aloud confuse them. Base32 is for
// those. It allocates the string.
func (id ID) Base62() string {
	var b [base62Len]byte
	return string(id.AppendBase62(b[:0]))
}

// AppendBase62 appends what Base62 returns to b. It allocates only when b has to grow. A negative
// id becomes a text that ParseBase62 refuses.
func (id ID) AppendBase62(b []byte) []byte {
	// One digit and twice five digits. Five digits fit 32 bits, whose divisions are quicker, and
	// the two halves do not wait for one another.
	// 916,132,832, below 2^30. The top digit is what is left of 63 bits above ten digits: 0 to 10.
	const five = 62 * 62 * 62 * 62 * 62
	v := uint64(id)
	high, low := v/five, uint32(v%five)
	top, mid := high/five, uint32(high%five)
	var d [base62Len]byte
	d[0] = base62Digits[top]
	for i := 5; i > 0; i-- {
		d[i], mid = base62Digits[mid%62], mid/62
		d[i+5], low = base62Digits[low%62], low/62
	}
	return append(b, d[:]...)
}

// ParseBase62 reads what Base62 writes: exactly 11 characters, in which case matters. It allocates
// only for an error, which wraps ErrBadID.
func ParseBase62(text string) (ID, error) {
	if len(text) != base62Len {
		return 0, fmt.Errorf("%w: base62 text %s has %d bytes, want %d",
			ErrBadID, quote(text), len(text), base62Len)
	}
	var v uint64
	for i := range base62Len {
		d := base62Value(text[i])
		if d > 61 {
			return 0, fmt.Errorf("%w: base62 text %s has %q at index %d, want 0-9, A-Z or a-z",
				ErrBadID, quote(text), text[i], i)
		}
		// Ten digits fit in any case; the eleventh may reach beyond 2^64, so the bound is checked
		// before it is added.
		if i == base62Len-1 && v > (math.MaxInt64-uint64(d))/62 {
			return 0, errTooLarge("base62", text)
		}
		v = v*62 + uint64(d)
	}
	return ID(v), nil
}

// base62Value is the inverse of base62Digits: the value of a character, more than 61 for one that
// has none. A character below '0' wraps around to a large number, one above 'z' is 62 or more.
func base62Value(c byte) byte {
	switch {
	case c <= '9':
		return c - '0'
	case c >= 'a':
		return c - 'a' + 36
	case c >= 'A' && c <= 'Z':
		return c - 'A' + 10
	}
	return 0xff
}
