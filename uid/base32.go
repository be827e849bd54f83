package uid

import "fmt"

// base32Len is the length of every Base32 text: 13 digits of 5 bits are 65 bits, 12 would be 60. An
// id has 63, so the first digit is 0 to 7.
const base32Len = 13

// base32Digits are Crockford's: the digits and letters without I, L, O and U, in the order of
// ASCII, so that texts of one length sort as the numbers do.
const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Base32 returns the id in Crockford's base 32 (https://www.crockford.com/base32.html): always 13
// characters, upper case, no check symbol. The texts sort as the numbers do. It allocates the
// string.
func (id ID) Base32() string {
	var b [base32Len]byte
	return string(id.AppendBase32(b[:0]))
}

// AppendBase32 appends what Base32 returns to b. It allocates only when b has to grow. A negative
// id becomes a text that ParseBase32 refuses.
func (id ID) AppendBase32(b []byte) []byte {
	// Thirteen independent shifts, without a loop that would carry v from one digit to the next.
	// The first digit has the three highest bits of an id; the sign of a negative number makes it 8
	// or more, which no parser accepts.
	v := uint64(id)
	return append(b,
		base32Digits[v>>60], base32Digits[v>>55&31], base32Digits[v>>50&31],
		base32Digits[v>>45&31], base32Digits[v>>40&31], base32Digits[v>>35&31],
		base32Digits[v>>30&31], base32Digits[v>>25&31], base32Digits[v>>20&31],
		base32Digits[v>>15&31], base32Digits[v>>10&31], base32Digits[v>>5&31],
		base32Digits[v&31])
}

// ParseBase32 reads what Base32 writes, and what people type for it: lower case, I and L for 1, O
// for 0. Any other length or character is refused, U and hyphens included. It allocates only for an
// error, which wraps ErrBadID.
func ParseBase32(text string) (ID, error) {
	if len(text) != base32Len {
		return 0, fmt.Errorf("%w: base32 text %s has %d bytes, want %d",
			ErrBadID, quote(text), len(text), base32Len)
	}
	var v uint64
	for i := range base32Len {
		d := base32Value(text[i])
		if d > 31 {
			return 0, fmt.Errorf("%w: base32 text %s has %q at index %d, want 0-9 or A-Z without U",
				ErrBadID, quote(text), text[i], i)
		}
		// The first digit carries bits 60 to 64, and an id has none above 62.
		if i == 0 && d > 7 {
			return 0, errTooLarge("base32", text)
		}
		v = v<<5 | uint64(d)
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
