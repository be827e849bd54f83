package number

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCheckVectors compares the check characters with published ones.
func TestCheckVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		k    check
		text string
		want byte
	}{
		{luhn, "7992739871", '3'},      // ISO/IEC 7812-1's algorithm; the usual example
		{luhn, "411111111111111", '1'}, // a test card
		{luhn, "37828224631000", '5'},  // one of 15 digits
		{luhn, "49015420323751", '8'},  // an IMEI
		{luhn, "4111-1111-1111-111", '1'},
		{damm, "572", '4'},                   // Damm's thesis
		{damm, "11294", '6'},                 // Rosetta Code
		{mod11x10, "0794", '5'},              // ISO/IEC 7064
		{mod11x10, "13669597", '6'},          // a German VAT number
		{mod11x10, "8609574271", '9'},        // a German tax number
		{mod37x36, "A12425GABC1234002", 'M'}, // the GRid of its standard
		{mod37x36, "A1-2425G-ABC1234002", 'M'},
	} {
		if got := v.k.char([]byte(v.text)); got != v.want {
			t.Errorf("check %d of %q = %c, want %c", v.k, v.text, got, v.want)
		}
	}
}

// TestCheckErrors: every wrong character is found, and neighbours that changed places: all by Damm,
// all but 09 and 90 by Luhn, all but a few in a thousand by the hybrid systems, as their texts say.
func TestCheckErrors(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 64))
	for k := luhn; k <= mod37x36; k++ {
		missed, swaps := 0, 0
		for range 2000 {
			b := make([]byte, 1+r.IntN(20))
			for i := range b {
				b[i] = k.chars()[r.IntN(len(k.chars()))]
			}
			want := k.char(b)
			i := r.IntN(len(b))
			old := b[i]
			for _, c := range []byte(k.chars()) {
				if b[i] = c; c != old && k.char(b) == want {
					t.Fatalf("check %d misses %q for %q at %d of %q", k, c, old, i, b)
				}
			}
			b[i] = old
			if i+1 == len(b) || b[i] == b[i+1] {
				continue
			}
			b[i], b[i+1] = b[i+1], b[i]
			if swaps++; k.char(b) == want {
				missed++
				pair := string(b[i : i+2])
				if k == damm || k == luhn && pair != "09" && pair != "90" {
					t.Errorf("check %d misses the exchange to %q", k, b)
				}
			}
		}
		if missed*40 > swaps {
			t.Errorf("check %d misses %d of %d exchanges", k, missed, swaps)
		}
	}
}

// TestAlphabets: none has what is mistaken, both cases or a character twice.
func TestAlphabets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"digits": 10, "upper": 26, "alnum": 36, "crockford": 32, "plain": 31,
		"[0-9A-F]": 16, "[ab]": 2, "[A-Ca-c]": 0, "[aa]": 0, "[a]": 0, "[a-]": 0, "[z-a]": 0, "[ab": 0, "hex": 0,
		"[äb]": 0, "[a b]": 0, "[aB]": 2} {
		a, err := newAlphabet(name)
		if err != nil && want != 0 || err == nil && len(a.chars) != want {
			t.Errorf("the alphabet %s is %+v, %v, want %d characters", name, a, err, want)
		}
	}
	if strings.ContainsAny(named("plain"), "01OIL") || strings.ContainsAny(named("crockford"), "ILOU") {
		t.Error("an alphabet has what is mistaken")
	}
}
