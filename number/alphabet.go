package number

import (
	"fmt"
	"strings"
)

// alphabet is the characters of a field, in the order of their values. It is immutable.
type alphabet struct {
	chars string
	value [256]int8 // of a character; -1: not of the alphabet
}

// named returns the characters of an alphabet that has a name, or "". plain leaves out what is
// mistaken: 0 for O, 1 for I and L.
func named(name string) string {
	const digits, upper = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	switch name {
	case "digits":
		return digits
	case "upper":
		return upper
	case "alnum":
		return digits + upper
	case "crockford":
		return digits + "ABCDEFGHJKMNPQRSTVWXYZ"
	case "plain":
		return "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
	}
	return ""
}

// newAlphabet reads the name of an alphabet, or one in brackets: [0-9A-F].
func newAlphabet(text string) (*alphabet, error) {
	chars := named(text)
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		var own []byte
		for i := 0; i < len(inner); i++ {
			if i+2 < len(inner) && inner[i+1] == '-' {
				if inner[i] > inner[i+2] {
					return nil, fmt.Errorf("the range %s is upside down", inner[i:i+3])
				}
				for c := int(inner[i]); c <= int(inner[i+2]); c++ {
					own = append(own, byte(c))
				}
				i += 2
				continue
			}
			own = append(own, inner[i])
		}
		chars = string(own)
		if !closed || len(chars) < 2 {
			return nil, fmt.Errorf("the alphabet is %q, want two characters or more in brackets",
				text)
		}
	}
	if chars == "" {
		return nil, fmt.Errorf("the alphabet is %q, want digits, upper, alnum, crockford, plain "+
			"or one's own, such as [0-9A-F]", text)
	}
	a := &alphabet{chars: chars}
	for i := range a.value {
		a.value[i] = -1
	}
	for i := range len(chars) {
		c := chars[i]
		switch {
		case !isAlnum(c):
			return nil, fmt.Errorf("the alphabet has %q, want letters and digits", c)
		case a.value[c] >= 0:
			return nil, fmt.Errorf("the alphabet has %q twice", c)
		// Databases compare texts without regard to case, and people read them that way.
		case c > '9' && a.value[c^0x20] >= 0:
			return nil, fmt.Errorf("the alphabet has %q and %q, want letters of one case",
				c, c^0x20)
		}
		a.value[c] = int8(i)
	}
	return a, nil
}

// isAlnum reports whether c is an ASCII letter or digit.
func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// has reports whether all characters of text are of the alphabet.
func (a *alphabet) has(text string) bool {
	for i := range len(text) {
		if a.value[text[i]] < 0 {
			return false
		}
	}
	return true
}

// folds reports whether c, in either case, is of the alphabet.
func (a *alphabet) folds(c byte) bool {
	return a.value[c] >= 0 || c > '9' && isAlnum(c) && a.value[c^0x20] >= 0
}

// append appends n with width characters to b.
func (a *alphabet) append(b []byte, n int64, width int) []byte {
	end := len(b) + width
	b = append(b, "0000000000000000000000000000000000000000000000000000000000000000"[:width]...)
	v, chars := uint64(n), a.chars
	if len(chars) == 10 { // a division by a constant is a multiplication
		for i := end - 1; i >= end-width; i-- {
			b[i] = chars[v%10]
			v /= 10
		}
		return b
	}
	radix := uint64(len(chars))
	for i := end - 1; i >= end-width; i-- {
		b[i] = chars[v%radix]
		v /= radix
	}
	return b
}

// number reads what append writes. The characters are of the alphabet.
func (a *alphabet) number(text string) (n int64) {
	for i := range len(text) {
		n = n*int64(len(a.chars)) + int64(a.value[text[i]])
	}
	return n
}
