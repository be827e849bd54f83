package uid_test

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/uidring/uidring/uid"
)

const base62Alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func TestBase62(t *testing.T) {
	t.Parallel()
	for _, g := range goldenIDs() {
		app := func(b []byte) []byte { return uid.Base62.Append(b, g.id) }
		checkText(t, g.id, g.base62, uid.Base62.Text(g.id), app, uid.Base62.Parse)
	}
	for _, id := range spreadIDs() {
		text := uid.Base62.Text(id)
		if got, err := uid.Base62.Parse(text); err != nil || got != id || len(text) != 11 {
			t.Fatalf("%d is %q, which reads as %d, %v", id, text, got, err)
		}
	}
}

// The digits against the standard library's own base 62, which has the lower case before the upper.
func TestBase62AgainstBig(t *testing.T) {
	t.Parallel()
	for _, id := range spreadIDs() {
		text := []byte(big.NewInt(int64(id)).Text(62))
		for i, c := range text {
			switch {
			case c >= 'a' && c <= 'z':
				text[i] = c - 'a' + 'A'
			case c >= 'A' && c <= 'Z':
				text[i] = c - 'A' + 'a'
			}
		}
		if got, want := uid.Base62.Text(id), strings.Repeat("0", 11-len(text))+string(text); got != want {
			t.Fatalf("Base62 of %d = %q, want %q", id, got, want)
		}
	}
}

// Each of the 256 bytes either has its value or is refused, at every place.
func TestBase62Alphabet(t *testing.T) {
	t.Parallel()
	for c := range 256 {
		weight := uid.ID(1)
		for place := 10; place >= 1; place, weight = place-1, weight*62 {
			text := []byte("00000000000")
			text[place] = byte(c)
			id, err := uid.Base62.Parse(string(text))
			v := strings.IndexByte(base62Alphabet, byte(c))
			if v < 0 {
				checkBadID(t, fmt.Sprintf("Base62.Parse(%q)", text), id, err, fmt.Sprintf("at index %d", place))
			} else if err != nil || id != uid.ID(v)*weight {
				t.Errorf("Base62.Parse(%q) = %d, %v, want %d", text, id, err, uid.ID(v)*weight)
			}
		}
	}
}

func TestBase62Refuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"", `base62 text "" has 0 bytes, want 11`},
		{"1", "has 1 bytes, want 11"},
		{"0000000001", "has 10 bytes, want 11"},
		{"000000000001", "has 12 bytes, want 11"},
		{"0000-000001", `has '-' at index 4, want 0-9, A-Z or a-z`},
		{"0000000000_", `has '_' at index 10`},
		{" 0000000001", `has ' ' at index 0`},
		{"AzL8n0Y58m8", "is above 9223372036854775807"}, // 2^63
		{"AzL8n0Y58mz", "is above 9223372036854775807"},
		{"B0000000000", "is above 9223372036854775807"},
		{"LygHa16AHYF", "is above 9223372036854775807"}, // 2^64-1
		{"LygHa16AHYG", "is above 9223372036854775807"}, // 2^64, 0 when it wraps
		{"LygHa16AHYH", "is above 9223372036854775807"}, // 2^64+1, 1 when it wraps
		{"zzzzzzzzzzz", "is above 9223372036854775807"},
		{strings.Repeat("0", 1<<20), "has 1048576 bytes, want 11"},
	} {
		id, err := uid.Base62.Parse(tc.in)
		checkBadID(t, fmt.Sprintf("Base62.Parse(%.30q)", tc.in), id, err, tc.want)
	}
}

// FuzzBase62: what is read is exactly what is written back, and what is refused has no 63-bit
// number.
func FuzzBase62(f *testing.F) {
	for _, g := range goldenIDs() {
		f.Add(g.base62)
	}
	f.Add("AzL8n0Y58m8")
	f.Add("LygHa16AHYH")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := uid.Base62.Parse(text)
		if err == nil {
			if got := uid.Base62.Text(id); id < 0 || got != text {
				t.Fatalf("Base62.Parse(%q) = %d, which is written %q", text, id, got)
			}
			return
		}
		if id != 0 || !errors.Is(err, uid.ErrBadID) {
			t.Fatalf("Base62.Parse(%q) = %d, %v, want 0 and ErrBadID", text, id, err)
		}
		if len(text) == 11 && strings.Trim(text, base62Alphabet) == "" && text <= "AzL8n0Y58m7" {
			t.Fatalf("Base62.Parse(%q) refuses a number of 63 bits: %v", text, err)
		}
	})
}
