package uid_test

import (
	"encoding"
	"errors"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/uid"
)

var (
	_ encoding.TextAppender    = uid.ID(0)
	_ encoding.TextMarshaler   = uid.ID(0)
	_ encoding.TextUnmarshaler = (*uid.ID)(nil)
	_ fmt.Stringer             = uid.ID(0)
)

// goldenID is one id in its three forms, written down once and for all: the forms are stored and
// sent, so they never change.
type goldenID struct {
	id             uid.ID
	decimal        string
	base32, base62 string
}

func goldenIDs() []goldenID {
	return []goldenID{
		{0, "0", "0000000000000", "00000000000"},
		{1, "1", "0000000000001", "00000000001"},
		{9, "9", "0000000000009", "00000000009"},
		{10, "10", "000000000000A", "0000000000A"},
		{31, "31", "000000000000Z", "0000000000V"},
		{32, "32", "0000000000010", "0000000000W"},
		{61, "61", "000000000001X", "0000000000z"},
		{62, "62", "000000000001Y", "00000000010"},
		{8384513, "8384513", "000000007ZW01", "0000000ZBC5"},
		{1<<53 - 1, "9007199254740991", "007ZZZZZZZZZZ", "00fFgnDxSe7"},
		{1<<53 + 1, "9007199254740993", "0080000000001", "00fFgnDxSe9"},
		{176636543012323384, "176636543012323384", "04WWA0009MG1R", "0D2zpORiPcG"},
		{1234567890123456789, "1234567890123456789", "128GGYHYYK08N", "1TCKi1nFuNh"},
		{1<<62 - 1, "4611686018427387903", "3ZZZZZZZZZZZZ", "5UfZOVH2ZO3"},
		{1 << 62, "4611686018427387904", "4000000000000", "5UfZOVH2ZO4"},
		{math.MaxInt64, "9223372036854775807", "7ZZZZZZZZZZZZ", "AzL8n0Y58m7"},
	}
}

// checkText checks the text of a golden id, written and read.
func checkText(t *testing.T, id uid.ID, want, got string, app func([]byte) []byte, parse func(string) (uid.ID, error)) {
	t.Helper()
	if got != want {
		t.Errorf("%d is written %q, want %q", id, got, want)
	}
	if got := string(app([]byte("id-"))); got != "id-"+want {
		t.Errorf("%d is appended as %q, want %q", id, got, "id-"+want)
	}
	if got, err := parse(want); err != nil || got != id {
		t.Errorf("%q reads as %d, %v, want %d", want, got, err, id)
	}
}

func TestIDDecimal(t *testing.T) {
	t.Parallel()
	for _, g := range goldenIDs() {
		if got := g.id.String(); got != g.decimal {
			t.Errorf("String() of %d = %q, want %q", int64(g.id), got, g.decimal)
		}
		text, err := g.id.MarshalText()
		if err != nil || string(text) != g.decimal {
			t.Errorf("MarshalText() of %d = %q, %v, want %q", int64(g.id), text, err, g.decimal)
		}
		text, err = g.id.AppendText([]byte("id="))
		if err != nil || string(text) != "id="+g.decimal {
			t.Errorf("AppendText() of %d = %q, %v, want %q", int64(g.id), text, err, "id="+g.decimal)
		}
		if got, err := uid.ParseID(g.decimal); err != nil || got != g.id {
			t.Errorf("ParseID(%q) = %d, %v, want %d", g.decimal, got, err, g.id)
		}
		got := ^g.id
		if err := got.UnmarshalText([]byte(g.decimal)); err != nil || got != g.id {
			t.Errorf("UnmarshalText(%q) = %d, %v, want %d", g.decimal, got, err, g.id)
		}
	}
	if got, err := uid.ParseID("0000000000000000042"); err != nil || got != 42 {
		t.Errorf("ParseID of a zero-padded text = %d, %v, want 42", got, err)
	}
}

// An id prints as a number wherever a string or a number is asked for, and works as a flag.
func TestIDPrints(t *testing.T) {
	t.Parallel()
	if got, want := fmt.Sprintf("%d %v %s %q", uid.ID(42), uid.ID(42), uid.ID(42), uid.ID(42)),
		`42 42 42 "42"`; got != want {
		t.Errorf("Sprintf gives %s, want %s", got, want)
	}
	set := flag.NewFlagSet("", flag.ContinueOnError)
	var id uid.ID
	set.TextVar(&id, "after", uid.ID(7), "")
	if id != 7 {
		t.Errorf("the flag's default is %d, want 7", id)
	}
	if err := set.Parse([]string{"-after", "9007199254740993"}); err != nil || id != 9007199254740993 {
		t.Errorf("the flag is %d, %v, want 9007199254740993", id, err)
	}
}

func TestParseIDRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"", "has 0 bytes"},
		{"-1", `has '-' at index 0`},
		{"+1", `has '+' at index 0`},
		{" 1", `has ' ' at index 0`},
		{"1 ", `has ' ' at index 1`},
		{"1\n", `has '\n' at index 1`},
		{"1_000", `has '_' at index 1`},
		{"1,000", `has ',' at index 1`},
		{"0x10", `has 'x' at index 1`},
		{"1.0", `has '.' at index 1`},
		{"1e3", `has 'e' at index 1`},
		{"null", `has 'n' at index 0`},
		{"12/", `has '/' at index 2`},
		{"12:", `has ':' at index 2`},
		{"\x00", `has '\x00' at index 0`},
		{"１２", "want a digit"}, // digits, but not ASCII
		{"9223372036854775808", "is above 9223372036854775807"},
		{"9999999999999999999", "is above 9223372036854775807"},
		{"18446744073709551617", "has 20 bytes"}, // 2^64+1
		{"00000000000000000001", "has 20 bytes"},
		{strings.Repeat("9", 1<<20), "has 1048576 bytes"},
	} {
		id, err := uid.ParseID(tc.in)
		checkBadID(t, fmt.Sprintf("ParseID(%.30q)", tc.in), id, err, tc.want)

		id = 77
		err = id.UnmarshalText([]byte(tc.in))
		checkBadID(t, fmt.Sprintf("UnmarshalText(%.30q)", tc.in), id-77, err, tc.want)
	}
}

// checkBadID fails the test unless id is 0 and err wraps ErrBadID, says want and does not carry a
// large input along.
func checkBadID(tb testing.TB, what string, id uid.ID, err error, want string) {
	tb.Helper()
	switch {
	case id != 0 || !errors.Is(err, uid.ErrBadID):
		tb.Errorf("%s: id %d, error %v, want no id and an error that wraps ErrBadID", what, id, err)
	case !strings.Contains(err.Error(), want):
		tb.Errorf("%s: error %q does not say %q", what, err, want)
	case len(err.Error()) > 250:
		tb.Errorf("%s: error of %d bytes, want at most 250", what, len(err.Error()))
	}
}

// What can say so refuses to write a negative number, and what is returned without an error cannot
// be read back.
func TestNegativeIDIsNoID(t *testing.T) {
	t.Parallel()
	for _, id := range []uid.ID{-1, -2, math.MinInt64, math.MinInt64 + 1} {
		text, err := id.MarshalText()
		if text != nil || !errors.Is(err, uid.ErrBadID) {
			t.Errorf("MarshalText of %d = %q, %v, want ErrBadID", int64(id), text, err)
		}
		text, err = id.AppendText([]byte("x"))
		if string(text) != "x" || !errors.Is(err, uid.ErrBadID) {
			t.Errorf("AppendText of %d = %q, %v, want what was there and ErrBadID", int64(id), text, err)
		}
		if text, err := id.MarshalJSON(); text != nil || !errors.Is(err, uid.ErrBadID) {
			t.Errorf("MarshalJSON of %d = %q, %v, want ErrBadID", int64(id), text, err)
		}
		if v, err := id.Value(); v != nil || !errors.Is(err, uid.ErrBadID) {
			t.Errorf("Value of %d = %v, %v, want ErrBadID", int64(id), v, err)
		}
		if back, err := uid.ParseID(id.String()); !errors.Is(err, uid.ErrBadID) {
			t.Errorf("String of %d reads as %d, %v, want ErrBadID", int64(id), back, err)
		}
		if back, err := uid.Base32.Parse(uid.Base32.Text(id)); !errors.Is(err, uid.ErrBadID) {
			t.Errorf("Base32 of %d, %q, reads as %d, %v, want ErrBadID", int64(id), uid.Base32.Text(id), back, err)
		}
		if back, err := uid.Base62.Parse(uid.Base62.Text(id)); !errors.Is(err, uid.ErrBadID) {
			t.Errorf("Base62 of %d, %q, reads as %d, %v, want ErrBadID", int64(id), uid.Base62.Text(id), back, err)
		}
	}
}

// spreadIDs returns ids of every length: the neighbours of all powers of two and of 62, and random
// ones, sorted.
func spreadIDs() []uid.ID {
	ids := []uid.ID{0, math.MaxInt64}
	for i := range 63 {
		ids = append(ids, 1<<i-1, 1<<i, 1<<i+1)
	}
	for p := uid.ID(62); p < math.MaxInt64/62; p *= 62 {
		ids = append(ids, p-1, p, p+1)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		ids = append(ids, uid.ID(rnd.Int64()>>rnd.IntN(63)))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// The fixed-width forms, and zero-padded decimals, sort bytewise as the numbers do.
func TestTextsSortLikeNumbers(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]func(uid.ID) string{
		"base32":  uid.Base32.Text,
		"base62":  uid.Base62.Text,
		"decimal": func(id uid.ID) string { return fmt.Sprintf("%019d", int64(id)) },
	} {
		ids := spreadIDs()
		for i := range len(ids) - 1 {
			if a, b := text(ids[i]), text(ids[i+1]); a >= b {
				t.Errorf("%s: %d is %q and %d is %q, want the first to sort before", name, ids[i], a, ids[i+1], b)
			}
		}
	}
}

// Writing into a buffer that is large enough, and reading, allocate nothing; a string costs itself.
func TestIDAllocations(t *testing.T) {
	buf := make([]byte, 0, 64)
	id := uid.ID(math.MaxInt64)
	decimal, base32, base62 := id.String(), uid.Base32.Text(id), uid.Base62.Text(id)
	text, jsonString, jsonNumber := []byte(decimal), []byte(`"`+decimal+`"`), []byte("9007199254740991")
	var src any = int64(math.MaxInt64)
	var srcText any = text
	var sink uid.ID
	var number uid.JSONNumber
	for _, tc := range []struct {
		name string
		want float64
		f    func()
	}{
		{"AppendText", 0, func() { buf, _ = id.AppendText(buf[:0]) }},
		{"Base32.Append", 0, func() { buf = uid.Base32.Append(buf[:0], id) }},
		{"Base62.Append", 0, func() { buf = uid.Base62.Append(buf[:0], id) }},
		{"ParseID", 0, func() { sink, _ = uid.ParseID(decimal) }},
		{"Base32.Parse", 0, func() { sink, _ = uid.Base32.Parse(base32) }},
		{"Base62.Parse", 0, func() { sink, _ = uid.Base62.Parse(base62) }},
		{"UnmarshalText", 0, func() { _ = sink.UnmarshalText(text) }},
		{"UnmarshalJSON of a string", 0, func() { _ = sink.UnmarshalJSON(jsonString) }},
		{"UnmarshalJSON of a number", 0, func() { _ = sink.UnmarshalJSON(jsonNumber) }},
		{"UnmarshalJSON of a JSONNumber", 0, func() { _ = number.UnmarshalJSON(text) }},
		{"Scan of an int64", 0, func() { _ = sink.Scan(src) }},
		{"Scan of bytes", 0, func() { _ = sink.Scan(srcText) }},
		{"String", 1, func() { decimal = id.String() }},
		{"Base32", 1, func() { base32 = uid.Base32.Text(id) }},
		{"Base62", 1, func() { base62 = uid.Base62.Text(id) }},
		{"MarshalText", 1, func() { text, _ = id.MarshalText() }},
		{"MarshalJSON", 1, func() { jsonString, _ = id.MarshalJSON() }},
	} {
		if got := testing.AllocsPerRun(100, tc.f); got != tc.want {
			t.Errorf("%s allocates %v times, want %v", tc.name, got, tc.want)
		}
	}
	if sink != id {
		t.Errorf("the last id read is %d, want %d", sink, id)
	}
}

// FuzzParseID: what is read is written back as the same number, and what is refused is no 63-bit
// decimal.
func FuzzParseID(f *testing.F) {
	for _, g := range goldenIDs() {
		f.Add(g.decimal)
	}
	f.Add("9223372036854775808")
	f.Add("-1")
	f.Add("007")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := uid.ParseID(text)
		if err != nil {
			if id != 0 || !errors.Is(err, uid.ErrBadID) {
				t.Fatalf("ParseID(%q) = %d, %v, want 0 and ErrBadID", text, id, err)
			}
			digits := strings.Trim(text, "0123456789") == "" && text != ""
			if digits && len(text) <= 19 && fmt.Sprintf("%019s", text) <= "9223372036854775807" {
				t.Fatalf("ParseID(%q) refuses a decimal: %v", text, err)
			}
			return
		}
		short := strings.TrimLeft(text, "0")
		if short == "" {
			short = "0"
		}
		if id < 0 || id.String() != short {
			t.Fatalf("ParseID(%q) = %d, want %s", text, id, short)
		}
	})
}

// TestBadIDQuotes has the error quote an input, the first 32 bytes of a longer one.
func TestBadIDQuotes(t *testing.T) {
	t.Parallel()
	const digits = "12345678901234567890123456789012"
	for in, want := range map[string]string{digits: `text "` + digits + `" has 32 bytes`,
		digits + "3": `text "` + digits + `"... has 33 bytes`} {
		_, err := uid.ParseID(in)
		checkBadID(t, "ParseID("+in+")", 0, err, want)
	}
}
