package opaque

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

// reference is FF1 of any radix as the standard's algorithm 7 writes it, step by step.
func reference(block cipher.Block, radix int, tweak []byte, x string) string {
	n, t := len(x), len(tweak)
	u := n / 2
	v := n - u
	a, c := x[:u], x[u:]
	b := int(math.Ceil(math.Ceil(float64(v)*math.Log2(float64(radix))) / 8))
	d := 4*((b+3)/4) + 4
	p := []byte{1, 2, 1, byte(radix >> 16), byte(radix >> 8), byte(radix), 10, byte(u)}
	p = binary.BigEndian.AppendUint32(p, uint32(n))
	p = binary.BigEndian.AppendUint32(p, uint32(t))
	num := func(s string) *big.Int {
		z, ok := new(big.Int).SetString(s, radix)
		if !ok {
			panic(s)
		}
		return z
	}
	for i := range 10 {
		q := append(bytes.Clone(tweak), make([]byte, ((-t-b-1)%16+16)%16)...)
		q = append(q, byte(i))
		q = append(q, num(c).FillBytes(make([]byte, b))...)
		var r [16]byte
		for data := append(bytes.Clone(p), q...); len(data) > 0; data = data[16:] {
			for j := range r {
				r[j] ^= data[j]
			}
			block.Encrypt(r[:], r[:])
		}
		s := bytes.Clone(r[:])
		for j := 1; len(s) < d; j++ {
			var next [16]byte
			binary.BigEndian.PutUint64(next[8:], uint64(j))
			for k := range next {
				next[k] ^= r[k]
			}
			block.Encrypt(next[:], next[:])
			s = append(s, next[:]...)
		}
		m := u
		if i%2 == 1 {
			m = v
		}
		sum := new(big.Int).Add(num(a), new(big.Int).SetBytes(s[:d]))
		sum.Mod(sum, new(big.Int).Exp(big.NewInt(int64(radix)), big.NewInt(int64(m)), nil))
		text := sum.Text(radix)
		a, c = c, strings.Repeat("0", m-len(text))+text
	}
	return a + c
}

// newAES returns the cipher of a key.
func newAES(tb testing.TB, key []byte) cipher.Block {
	tb.Helper()
	b, err := aes.NewCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// TestReference checks the reference against the nine samples that NIST publishes for FF1
// (https://csrc.nist.gov/projects/cryptographic-standards-and-guidelines/example-values).
func TestReference(t *testing.T) {
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
		key, err := hex.DecodeString(s.key)
		if err != nil {
			t.Fatal(err)
		}
		tweak, err := hex.DecodeString(s.tweak)
		if err != nil {
			t.Fatal(err)
		}
		if got := reference(newAES(t, key), s.radix, tweak, s.plain); got != s.want {
			t.Errorf("sample %d: %s, want %s", i+1, got, s.want)
		}
	}
}

// TestFF1 compares the permutation with the reference, for every width, tweaks of every length
// modulo a block, and the three sizes of key.
func TestFF1(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(38, 7))
	for bits := uint(2); bits <= 63; bits++ {
		for range 40 {
			key := make([]byte, 16+8*r.IntN(3))
			tweak := make([]byte, r.IntN(40))
			for i := range key {
				key[i] = byte(r.Uint32())
			}
			for i := range tweak {
				tweak[i] = byte(r.Uint32())
			}
			block := newAES(t, key)
			f := newFF1(block, bits, string(tweak))
			n := r.Uint64() >> (64 - bits)
			got := f.encrypt(n)
			text := big.NewInt(int64(n)).Text(2)
			want := reference(block, 2, tweak, strings.Repeat("0", int(bits)-len(text))+text)
			if g := big.NewInt(int64(got)).Text(2); strings.Repeat("0", int(bits)-len(g))+g != want {
				t.Fatalf("%d bits, tweak of %d bytes: %d becomes %s, want %s", bits, len(tweak), n, g, want)
			}
			if back := f.decrypt(got); back != n {
				t.Fatalf("%d bits: %d becomes %d, and that %d", bits, n, got, back)
			}
		}
	}
}

// TestBijection maps every number of small domains: each one is met once, and mapped back.
func TestBijection(t *testing.T) {
	t.Parallel()
	for bits := uint(2); bits <= 17; bits++ {
		f := newFF1(newAES(t, []byte("sixteen bytes ok")), bits, "small")
		seen := make([]bool, 1<<bits)
		for n := range uint64(1) << bits {
			to := f.encrypt(n)
			if to>>bits != 0 || seen[to] || f.decrypt(to) != n {
				t.Fatalf("%d bits: %d becomes %d, met before: %v, and that %d", bits, n, to, seen[to], f.decrypt(to))
			}
			seen[to] = true
		}
	}
}
