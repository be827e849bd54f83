package uid

import (
	"fmt"
	"math"
)

// Encoding is a text form of ids with a fixed width, so that texts sort bytewise as the numbers do.
type Encoding uint8

const (
	// Base32 is Crockford's base 32 (https://www.crockford.com/base32.html): 13 characters, upper
	// case, no check symbol. Parse reads what people type for it too: lower case, I and L for 1, O
	// for 0. U and hyphens are refused.
	Base32 Encoding = iota

	// Base62 is the shortest form of letters and digits: 11 characters, of 0-9, A-Z and a-z in this
	// order. A collation that ignores case does not tell its texts apart, and people who read them
	// aloud confuse them. Base32 is for those.
	Base62
)

// The lengths of all texts. 13 digits of 5 bits are 65 bits, 12 would be 60, and an id has 63: the
// first digit is 0 to 7. 62^10 is 8.4e17, less than 2^63, and 62^11 is 5.2e19, more than it.
const (
	base32Len = 13
	base62Len = 11
)

// The digits are in the order of ASCII, which is what makes the texts sort.
const (
	base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // without I, L, O and U
	base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// Text returns the text of id. It allocates the string.
func (e Encoding) Text(id ID) string {
	var b [max(base32Len, base62Len)]byte
	return string(e.Append(b[:0], id))
}

// Append appends what Text returns to b. It allocates only when b has to grow. A negative id
// becomes a text that Parse refuses.
func (e Encoding) Append(b []byte, id ID) []byte {
	v := uint64(id)
	if e == Base62 {
		return appendBase62(b, v)
	}
	// Thirteen independent shifts, without a loop that would carry v from one digit to the next.
	// The first digit has the three highest bits of an id; the sign of a negative number makes it 8
	// or more, which no parser accepts.
	return append(b,
		base32Digits[v>>60], base32Digits[v>>55&31], base32Digits[v>>50&31],
		base32Digits[v>>45&31], base32Digits[v>>40&31], base32Digits[v>>35&31],
		base32Digits[v>>30&31], base32Digits[v>>25&31], base32Digits[v>>20&31],
		base32Digits[v>>15&31], base32Digits[v>>10&31], base32Digits[v>>5&31],
		base32Digits[v&31])
}

// appendBase62 takes one digit and twice five digits from v. Five digits fit 32 bits, whose
// divisions are quicker, and the two halves do not wait for one another.
func appendBase62(b []byte, v uint64) []byte {
	// 916,132,832, below 2^30. The top digit is what is left of 63 bits above ten digits: 0 to 10.
	const five = 62 * 62 * 62 * 62 * 62
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

// Parse reads what Text writes. Any other length or character is refused. It allocates only for an
// error, which wraps ErrBadID.
func (e Encoding) Parse(text string) (ID, error) {
	name, want, base, digits := "base32", base32Len, uint64(32), "0-9 or A-Z without U"
	if e == Base62 {
		name, want, base, digits = "base62", base62Len, 62, "0-9, A-Z or a-z"
	}
	if len(text) != want {
		return 0, fmt.Errorf("%w: %s text %s has %d bytes, want %d",
			ErrBadID, name, quote(text), len(text), want)
	}
	var v uint64
	for i := range want {
		d := uint64(base32Value(text[i]))
		if e == Base62 {
			d = uint64(base62Value(text[i]))
		}
		if d >= base {
			return 0, fmt.Errorf("%w: %s text %s has %q at index %d, want %s",
				ErrBadID, name, quote(text), text[i], i, digits)
		}
		// All digits but one fit in any case. The last one may reach beyond 2^64, so the bound is
		// checked before it is added.
		if i == want-1 && v > (math.MaxInt64-d)/base {
			return 0, errTooLarge(name, text)
		}
		v = v*base + d
	}
	return ID(v), nil
}

// base32Letters holds the values of the letters A to Z, aliases included; 0xff for U, which has
// none. It is a string because nothing can change one.
const base32Letters = "\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x01\x12\x13\x01\x14\x15\x00" +
	"\x16\x17\x18\x19\x1a\xff\x1b\x1c\x1d\x1e\x1f"

// base32Value returns the value of a character, 0xff for one that has none. A character below '0'
// or 'a' wraps around to a large number, so that one comparison checks both bounds.
func base32Value(c byte) byte {
	if d := c - '0'; d <= 9 {
		return d
	}
	if l := (c | 0x20) - 'a'; l < 26 {
		return base32Letters[l]
	}
	return 0xff
}

// base62Value returns the value of a character, more than 61 for one that has none. A character
// below '0' wraps around to a large number, one above 'z' is 62 or more.
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
