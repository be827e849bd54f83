package ff1

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/hex"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestFF1 checks the halves' arithmetic against the nine samples that NIST publishes for FF1
// (https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values). The numbers
// of the radix-36 ones have 99 bits, so they are put together from their halves.
func TestFF1(t *testing.T) {
	t.Parallel()
	const (
		aes128 = "2B7E151628AED2A6ABF7158809CF4F3C"
		aes192 = aes128 + "EF4359D8D580AA4F"
		aes256 = aes192 + "7F036D6F04FC6A94"
		digits = "39383736353433323130"
		mixed  = "3737373770717273373737"
		short  = "0123456789"
		long   = "0123456789abcdefghi"
	)
	for i, s := range []struct {
		key, tweak  string
		radix       int
		plain, want string
	}{
		{aes128, "", 10, short, "2433477484"}, {aes128, digits, 10, short, "6124200773"},
		{aes128, mixed, 36, long, "a9tv40mll9kdu509eum"},
		{aes192, "", 10, short, "2830668132"}, {aes192, digits, 10, short, "2496655549"},
		{aes192, mixed, 36, long, "xbj3kv35jrawxv32ysr"},
		{aes256, "", 10, short, "6657667009"}, {aes256, digits, 10, short, "1001623463"},
		{aes256, mixed, 36, long, "xs8a0azh2avyalyzuwd"},
	} {
		key, _ := hex.DecodeString(s.key)
		tweak, _ := hex.DecodeString(s.tweak)
		f := New(cipherOf(t, key), uint64(s.radix), len(s.plain), tweak)
		if got := rounded(f, s.radix, s.plain, true); got != s.want {
			t.Errorf("sample %d: %s, want %s", i+1, got, s.want)
		}
		if got := rounded(f, s.radix, s.want, false); got != s.plain {
			t.Errorf("sample %d: %s back, want %s", i+1, got, s.plain)
		}
		if s.radix == 10 { // small enough for a number
			plain, _ := new(big.Int).SetString(s.plain, 10)
			if got := f.Encrypt(plain.Uint64()); padded(new(big.Int).SetUint64(got), 10, 10) != s.want {
				t.Errorf("sample %d: encrypt = %d, want %s", i+1, got, s.want)
			}
		}
	}
}

func cipherOf(tb testing.TB, key []byte) cipher.Block {
	tb.Helper()
	block, err := aes.NewCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	return block
}

// padded returns n with width digits.
func padded(n *big.Int, radix, width int) string {
	text := n.Text(radix)
	return strings.Repeat("0", width-len(text)) + text
}

// rounded runs the rounds of Encrypt or Decrypt on a numeral string of any length.
func rounded(f *Permutation, radix int, text string, forward bool) string {
	u := len(text) / 2
	parse := func(s string) uint64 { n, _ := new(big.Int).SetString(s, radix); return n.Uint64() }
	a, b, s := parse(text[:u]), parse(text[u:]), new(scratch)
	for i := range rounds / 2 {
		if forward {
			a = add(a, f.round(s, 2*i, b, f.left), f.left)
			b = add(b, f.round(s, 2*i+1, a, f.right), f.right)
			continue
		}
		b = add(b, f.right-f.round(s, rounds-1-2*i, a, f.right), f.right)
		a = add(a, f.left-f.round(s, rounds-2-2*i, b, f.left), f.left)
	}
	return padded(new(big.Int).SetUint64(a), radix, u) + padded(new(big.Int).SetUint64(b), radix, len(text)-u)
}

// TestFF1Reference compares Encrypt with a literal FF1 on big integers, for radices and widths that
// numbers have.
func TestFF1Reference(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(38, 7))
	for _, radix := range []uint64{2, 7, 10, 31, 32, 36, 62} {
		for width := 2; power(radix, width) <= 1<<63 && power(radix, width)/radix == power(radix, width-1); width++ {
			key, tweak := make([]byte, 16+8*r.IntN(3)), make([]byte, r.IntN(40))
			for i := range key {
				key[i] = byte(r.Uint32())
			}
			for i := range tweak {
				tweak[i] = byte(r.Uint32())
			}
			f := New(cipherOf(t, key), radix, width, tweak)
			for range 20 {
				n := r.Uint64N(power(radix, width))
				got := f.Encrypt(n)
				if want := literalFF1(cipherOf(t, key), radix, width, tweak, n); got != want {
					t.Fatalf("radix %d, width %d: %d becomes %d, want %d", radix, width, n, got, want)
				}
				if back := f.Decrypt(got); back != n {
					t.Fatalf("radix %d, width %d: %d becomes %d, and that %d", radix, width, n, got, back)
				}
			}
		}
	}
}

// literalFF1 is algorithm 7 of the standard, step by step.
func literalFF1(block cipher.Block, radix uint64, n int, tweak []byte, x uint64) uint64 {
	u := n / 2
	v := n - u
	r := new(big.Int).SetUint64(radix)
	pow := func(m int) *big.Int { return new(big.Int).Exp(r, big.NewInt(int64(m)), nil) }
	a, b := new(big.Int).DivMod(new(big.Int).SetUint64(x), pow(v), new(big.Int))
	bytes := (new(big.Int).Sub(pow(v), big.NewInt(1)).BitLen() + 7) / 8
	d := 4*((bytes+3)/4) + 4
	p := []byte{1, 2, 1, 0, 0, byte(radix), 10, byte(u), 0, 0, 0, byte(n), 0, 0, 0, byte(len(tweak))}
	for i := range 10 {
		q := append([]byte{}, tweak...)
		for (len(q)+bytes+1)%16 != 0 {
			q = append(q, 0)
		}
		q = append(q, byte(i))
		q = append(q, b.FillBytes(make([]byte, bytes))...)
		sum := make([]byte, 16)
		for at := 0; at < len(p)+len(q); at += 16 {
			for j, c := range append(append([]byte{}, p...), q...)[at : at+16] {
				sum[j] ^= c
			}
			block.Encrypt(sum, sum)
		}
		m := v
		if i%2 == 0 {
			m = u
		}
		c := new(big.Int).Add(a, new(big.Int).SetBytes(sum[:d]))
		a, b = b, c.Mod(c, pow(m))
	}
	return new(big.Int).Add(new(big.Int).Mul(a, pow(v)), b).Uint64()
}

// TestBijection maps every number of small domains: each one is met once, and mapped back.
func TestBijection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		radix uint64
		width int
	}{{10, 2}, {10, 5}, {31, 3}, {36, 3}, {2, 9}} {
		f := New(cipherOf(t, make([]byte, 16)), c.radix, c.width, []byte("order@20261122@BJ"))
		size := power(c.radix, c.width)
		seen := make([]bool, size)
		for n := range size {
			to := f.Encrypt(n)
			if to >= size || seen[to] || f.Decrypt(to) != n {
				t.Fatalf("radix %d, width %d: %d becomes %d", c.radix, c.width, n, to)
			}
			seen[to] = true
		}
	}
}
