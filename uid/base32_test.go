package uid_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/uidring/uidring/uid"
)

func TestBase32(t *testing.T) {
	t.Parallel()
	for _, g := range goldenIDs() {
		app := func(b []byte) []byte { return uid.Base32.Append(b, g.id) }
		checkText(t, g.id, g.base32, uid.Base32.Text(g.id), app, uid.Base32.Parse)
		if got, err := uid.Base32.Parse(strings.ToLower(g.base32)); err != nil || got != g.id {
			t.Errorf("Base32.Parse of %q in lower case = %d, %v, want %d", g.base32, got, err, g.id)
		}
	}
	for _, id := range spreadIDs() {
		text := uid.Base32.Text(id)
		if got, err := uid.Base32.Parse(text); err != nil || got != id || len(text) != 13 {
			t.Fatalf("%d is %q, which reads as %d, %v", id, text, got, err)
		}
	}
}

// Each of the 256 bytes either has Crockford's value or is refused, at every place.
func TestBase32Alphabet(t *testing.T) {
	t.Parallel()
	values := map[byte]uid.ID{'O': 0, 'o': 0, 'I': 1, 'i': 1, 'L': 1, 'l': 1}
	for v, c := range []byte("0123456789ABCDEFGHJKMNPQRSTVWXYZ") {
		values[c] = uid.ID(v)
		values[strings.ToLower(string(c))[0]] = uid.ID(v)
	}
	if len(values) != 10+2*25 {
		t.Fatalf("the test has %d characters, want the digits and all letters but U in both cases", len(values))
	}
	for c := range 256 {
		for place := range 13 {
			text := []byte("0000000000000")
			text[place] = byte(c)
			id, err := uid.Base32.Parse(string(text))
			v, ok := values[byte(c)]
			switch {
			case !ok:
				checkBadID(t, fmt.Sprintf("Base32.Parse(%q)", text), id, err, fmt.Sprintf("at index %d", place))
			case place == 0 && v > 7:
				checkBadID(t, fmt.Sprintf("Base32.Parse(%q)", text), id, err, "is above 9223372036854775807")
			case err != nil || id != v<<(5*(12-place)):
				t.Errorf("Base32.Parse(%q) = %d, %v, want %d", text, id, err, v<<(5*(12-place)))
			}
		}
	}
}

func TestBase32Refuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"", "has 0 bytes, want 13"},
		{"1", "has 1 bytes, want 13"},
		{"000000000001", "has 12 bytes, want 13"},
		{"00000000000001", "has 14 bytes, want 13"},
		{"000-0000-0001", `has '-' at index 3`},
		{"U000000000000", `has 'U' at index 0`},
		{"000000000000u", `has 'u' at index 12`},
		{" 000000000001", `has ' ' at index 0`},
		{"8000000000000", "is above 9223372036854775807"},
		{"ZZZZZZZZZZZZZ", "is above 9223372036854775807"},
		{"00000000000é", "want 0-9 or A-Z without U"},
		{strings.Repeat("0", 1<<20), "has 1048576 bytes, want 13"},
	} {
		id, err := uid.Base32.Parse(tc.in)
		checkBadID(t, fmt.Sprintf("Base32.Parse(%.30q)", tc.in), id, err, tc.want)
	}
}

// FuzzBase32: what is read is, but for case and aliases, what is written back.
func FuzzBase32(f *testing.F) {
	for _, g := range goldenIDs() {
		f.Add(g.base32)
	}
	f.Add("7oilOILabcxyz")
	f.Add("8000000000000")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := uid.Base32.Parse(text)
		if err != nil {
			if id != 0 || !errors.Is(err, uid.ErrBadID) {
				t.Fatalf("Base32.Parse(%q) = %d, %v, want 0 and ErrBadID", text, id, err)
			}
			return
		}
		want := strings.NewReplacer("I", "1", "L", "1", "O", "0").Replace(strings.ToUpper(text))
		if got := uid.Base32.Text(id); id < 0 || got != want {
			t.Fatalf("Base32.Parse(%q) = %d, which is written %q, want %q", text, id, got, want)
		}
	})
}
