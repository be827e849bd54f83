package number

import (
	"fmt"
	"slices"
)

// check is the method of a check character. Each finds one wrong character and, but for Luhn's 09
// and 90, two neighbours that changed places. It is computed over the letters and digits before it:
// separators are left out when a number is read aloud.
type check uint8

const (
	noCheck  check = iota
	luhn           // ISO/IEC 7812-1, annex B
	damm           // H. M. Damm, Total anti-symmetrische Quasigruppen, 2004
	mod11x10       // ISO/IEC 7064, MOD 11,10
	mod37x36       // ISO/IEC 7064, MOD 37,36
)

// checkOf returns the method of a name.
func checkOf(name string) (check, error) {
	for c, n := range map[check]string{
		luhn: "luhn", damm: "damm", mod11x10: "mod11,10", mod37x36: "mod37,36",
	} {
		if n == name {
			return c, nil
		}
	}
	return noCheck, fmt.Errorf("the check is %q, want luhn, damm, mod11,10 or mod37,36", name)
}

// chars returns the alphabet that the method holds.
func (k check) chars() string {
	if k == mod37x36 {
		return named("alnum")
	}
	return named("digits")
}

// value returns the value of a letter or digit that the method holds.
func value(c byte) uint {
	if c <= '9' {
		return uint(c - '0')
	}
	return uint(c - 'A' + 10)
}

// char returns the check character of b.
func (k check) char(b []byte) byte {
	switch k {
	case luhn:
		return luhnOf(b)
	case damm:
		const table = "03175986427092154863420687135917509834266123045978" +
			"36742095815869720134894536201794386172052581436790"
		at := uint(0)
		for _, c := range b {
			if isAlnum(c) {
				at = uint(table[at*10+value(c)] - '0')
			}
		}
		return byte('0' + at)
	case mod11x10:
		return named("digits")[hybrid(b, 10)]
	}
	return named("alnum")[hybrid(b, 36)]
}

// luhnOf doubles every second digit, the last one first.
func luhnOf(b []byte) byte {
	sum, double := uint(0), true
	for _, c := range slices.Backward(b) {
		if !isAlnum(c) {
			continue
		}
		v := value(c)
		if double {
			if v *= 2; v > 9 {
				v -= 9
			}
		}
		sum, double = sum+v, !double
	}
	return byte('0' + (10-sum%10)%10)
}

// hybrid is the hybrid system of ISO/IEC 7064 with the moduli m+1 and m. It returns the value of
// the check character. p stays in 1..m.
func hybrid(b []byte, m uint) uint {
	p := m
	for _, c := range b {
		if !isAlnum(c) {
			continue
		}
		if p += value(c); p > m {
			p -= m
		}
		if p *= 2; p > m {
			p -= m + 1
		}
	}
	return (m + 1 - p) % m
}
