package typed_test

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/opaque"
	"github.com/uidring/uidring/uid/typed"
)

type order struct{}

func (order) Prefix() string { return "ord" }

func (order) Codec() *opaque.Codec { return codec(1) }

type user struct{}

func (user) Prefix() string { return "usr" }

func (user) Codec() *opaque.Codec { return nil }

// lines has a prefix with an underscore and a digit inside.
type lines struct{}

func (lines) Prefix() string { return "order_line2" }

type (
	upper struct{}
	under struct{}
	empty struct{}
	long  struct{}
)

func (upper) Prefix() string { return "Ord" }
func (under) Prefix() string { return "ord_" }
func (empty) Prefix() string { return "" }
func (long) Prefix() string  { return strings.Repeat("a", 32) }

// codec returns the codec of a key's version.
func codec(version int) *opaque.Codec {
	c, err := opaque.New("order", opaque.Key{Version: version, Secret: bytes.Repeat([]byte{7}, 16)})
	if err != nil {
		panic(err)
	}
	return c
}

var some = []uid.ID{0, 1, 31, 32, 1 << 53, math.MaxInt64 - 1, math.MaxInt64}

// TestText reads back what is written, in either case, and the texts sort as the numbers do.
func TestText(t *testing.T) {
	t.Parallel()
	last := ""
	for _, id := range some {
		o := typed.ID[order](id)
		text := o.String()
		if want := "ord_" + strings.ToLower(uid.Base32.Text(id)); text != want {
			t.Errorf("the text of %d is %q, want %q", id, text, want)
		}
		if text <= last {
			t.Errorf("%q sorts before %q", text, last)
		}
		last = text
		for _, text := range []string{text, strings.ToUpper(text)} {
			if back, err := typed.Parse[order](text); err != nil || back != o {
				t.Errorf("Parse(%q) = %d, %v, want %d", text, back, err, o)
			}
		}
		line := typed.ID[lines](id)
		if back, err := typed.Parse[lines](line.String()); err != nil || back != line {
			t.Errorf("Parse(%q) = %d, %v, want %d", line, back, err, line)
		}
		shown := typed.Shown[order](id).String()
		for _, text := range []string{shown, strings.ToUpper(shown)} {
			if back, err := typed.ParseShown[order](text); err != nil || uid.ID(back) != id {
				t.Errorf("ParseShown(%q) = %d, %v, want %d", text, back, err, id)
			}
		}
		if shown == o.String() || strings.ToLower(shown) != shown {
			t.Errorf("the shown text of %d is %q", id, shown)
		}
	}
}

// TestRefused: a text of another type, or of none, is refused with an error that says why.
func TestRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"usr_01kmfjypewdwg":              `has the prefix "usr", want "ord"`,
		"order_line2_01kmfjypewdwg":      `has the prefix "order_line2", want "ord"`,
		"01kmfjypewdwg":                  "13 characters",
		"_01kmfjypewdwg":                 `has the prefix "", want "ord"`,
		"ord01kmfjypewdwg":               "13 characters",
		"ord_01kmfjypewdw":               "13 characters",
		"ord_01kmfjypewdwgg":             "13 characters",
		"ord_81kmfjypewdwg":              "above",
		"ord_01kmfjypewdwu":              "want 0-9",
		"":                               "13 characters",
		"123":                            "13 characters",
		strings.Repeat("x", 1<<20):       "13 characters",
		"ord_0\n1kmfjypewdw":             "want 0-9",
		"ord_01h455vb4pex5vsknk084sn02q": "13 characters", // a TypeID
	} {
		_, err := typed.Parse[order](text)
		if !errors.Is(err, uid.ErrBadID) || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("Parse(%.40q) = %v, want ErrBadID with %q", text, err, want)
		}
		o := typed.ID[order](7)
		if err := o.UnmarshalText([]byte(text)); err == nil || o != 7 {
			t.Errorf("UnmarshalText(%.40q) = %v and leaves %d", text, err, o)
		}
		s := typed.Shown[order](7)
		err = s.UnmarshalText([]byte(text))
		if err == nil && !strings.HasPrefix(text, "ord_81") || err != nil && s != 7 {
			t.Errorf("UnmarshalText(%.40q) of a Shown = %v and leaves %d", text, err, int64(s))
		}
	}
	// A code of a version that the codec has no key for.
	code := "ord_" + strings.ToLower(codec(2).Hide(5).String())
	if _, err := typed.ParseShown[order](code); !errors.Is(err, opaque.ErrVersion) {
		t.Errorf("ParseShown of version 2 = %v, want ErrVersion", err)
	}
	// A long s is an s in upper case.
	if id, err := typed.Parse[user]("u\u017fr_01kmfjypewdwg"); !errors.Is(err, uid.ErrBadID) {
		t.Errorf("Parse with a long s in the prefix = %v, %v, want ErrBadID", id, err)
	}
}

// TestBadPrefix: a prefix that could not be read back gives no text.
func TestBadPrefix(t *testing.T) {
	t.Parallel()
	check := func(name string, text func() ([]byte, error), str string, parse error) {
		if _, err := text(); !errors.Is(err, uid.ErrBadID) || !strings.Contains(err.Error(), "prefix") {
			t.Errorf("%s: MarshalText = %v, want ErrBadID about the prefix", name, err)
		}
		if str != "-" || !errors.Is(parse, uid.ErrBadID) {
			t.Errorf("%s: String = %q, Parse = %v", name, str, parse)
		}
	}
	_, err := typed.Parse[upper]("Ord_01kmfjypewdwg")
	check("upper", typed.ID[upper](1).MarshalText, typed.ID[upper](1).String(), err)
	_, err2 := typed.Parse[under]("ord__01kmfjypewdwg")
	check("under", typed.ID[under](1).MarshalText, typed.ID[under](1).String(), err2)
	_, err3 := typed.Parse[empty]("_01kmfjypewdwg")
	check("empty", typed.ID[empty](1).MarshalText, typed.ID[empty](1).String(), err3)
	_, err4 := typed.Parse[long](strings.Repeat("a", 32) + "_01kmfjypewdwg")
	check("long", typed.ID[long](1).MarshalText, typed.ID[long](1).String(), err4)
}

// TestNegative: a negative number has no text, and a Shown needs a codec.
func TestNegative(t *testing.T) {
	t.Parallel()
	b, err := typed.ID[order](-1).MarshalText()
	if b != nil || !errors.Is(err, uid.ErrBadID) || typed.ID[order](-1).String() != "-" {
		t.Errorf("MarshalText of -1 = %q, %v", b, err)
	}
	b, err = typed.Shown[order](-1).MarshalText()
	if b != nil || !errors.Is(err, uid.ErrBadID) {
		t.Errorf("MarshalText of a Shown -1 = %q, %v", b, err)
	}
	if _, err := typed.ID[order](-1).Value(); !errors.Is(err, uid.ErrBadID) {
		t.Errorf("Value of -1 = %v", err)
	}
	if _, err := typed.Shown[user](1).MarshalText(); err == nil || !strings.Contains(err.Error(), "nil") {
		t.Errorf("MarshalText without a codec = %v", err)
	}
	if _, err := typed.ParseShown[user]("usr_01kmfjypewdwg"); err == nil || typed.Shown[user](1).String() != "-" {
		t.Errorf("ParseShown without a codec = %v", err)
	}
}

// TestJSON: a string, the key of an object, null, and what is no text.
func TestJSON(t *testing.T) {
	t.Parallel()
	type body struct {
		ID    typed.ID[order]            `json:"id"`
		Next  *typed.ID[order]           `json:"next"`
		Names map[typed.ID[order]]string `json:"names"`
	}
	in := body{ID: 5, Names: map[typed.ID[order]]string{6: "six"}}
	js, err := json.Marshal(in)
	want := `{"id":"ord_0000000000005","next":null,"names":{"ord_0000000000006":"six"}}`
	if string(js) != want || err != nil {
		t.Fatalf("Marshal = %s, %v, want %s", js, err, want)
	}
	out := body{ID: 9}
	if err := json.Unmarshal(js, &out); err != nil || out.ID != 5 || out.Next != nil || out.Names[6] != "six" {
		t.Errorf("Unmarshal = %+v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"id":null,"next":"ord_0000000000000"}`), &out); err != nil || out.ID != 5 ||
		out.Next == nil || *out.Next != 0 {
		t.Errorf("null and zero = %+v, %v", out, err)
	}
	for _, bad := range []string{`{"id":5}`, `{"id":"5"}`, `{"id":"usr_0000000000005"}`, `{"id":""}`} {
		if err := json.Unmarshal([]byte(bad), &out); err == nil || out.ID != 5 {
			t.Errorf("Unmarshal(%s) = %v, %v", bad, out.ID, err)
		}
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	var id typed.ID[order]
	fs.TextVar(&id, "id", typed.ID[order](0), "")
	if err := fs.Parse([]string{"-id", "ORD_0000000000007"}); err != nil || id != 7 {
		t.Errorf("the flag is %v, %v", id, err)
	}
}

// TestColumn: an ID is a BIGINT, NULL is no zero, and a Shown is no column.
func TestColumn(t *testing.T) {
	t.Parallel()
	for _, id := range some {
		o := typed.ID[order](id)
		if v, err := o.Value(); err != nil || v != int64(id) || !driver.IsValue(v) {
			t.Errorf("Value of %d = %v, %v", id, v, err)
		}
		for _, src := range []any{int64(id), uint64(id), id.String(), []byte(id.String()), &o} {
			var back typed.ID[order]
			if err := back.Scan(src); err != nil || back != o {
				t.Errorf("Scan(%T %v) = %d, %v", src, src, back, err)
			}
		}
	}
	o := typed.ID[order](7)
	for _, src := range []any{nil, (*typed.ID[order])(nil), int64(-1), 1.5, "ord_01kmfjypewdwg", uint64(1 << 63)} {
		if err := o.Scan(src); !errors.Is(err, uid.ErrBadID) || o != 7 {
			t.Errorf("Scan(%T) = %v and leaves %d, want ErrBadID", src, err, o)
		}
	}
	var null sql.Null[typed.ID[order]]
	if err := null.Scan(nil); err != nil || null.Valid {
		t.Errorf("Scan of NULL = %+v, %v", null, err)
	}
	if err := null.Scan(int64(0)); err != nil || !null.Valid {
		t.Errorf("Scan of 0 = %+v, %v", null, err)
	}
	s := typed.Shown[order](7)
	if _, err := s.Value(); err == nil {
		t.Error("a Shown was stored")
	}
	if err := s.Scan(int64(8)); err == nil || s != 7 {
		t.Errorf("a Shown was read: %d, %v", int64(s), err)
	}
	if got := o.GormDataType(); got != "bigint" {
		t.Errorf("GormDataType = %q", got)
	}
}

func TestAllocs(t *testing.T) {
	id := typed.ID[order](1 << 62)
	text := id.String()
	for name, tt := range map[string]struct {
		want float64
		f    func()
	}{
		"String": {1, func() { _ = id.String() }},
		"Parse":  {0, func() { _, _ = typed.Parse[order](text) }},
	} {
		if got := testing.AllocsPerRun(100, tt.f); got > tt.want {
			t.Errorf("%s allocates %v times, want %v", name, got, tt.want)
		}
	}
}

// FuzzParse: a text that is read is written again, but for its case and what stands for a digit.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ord_01kmfjypewdwg", "ORD_0LIO000000000", "usr_01kmfjypewdwg", "", "ord_", "ord__"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := typed.Parse[order](text)
		if err != nil {
			if !errors.Is(err, uid.ErrBadID) || id != 0 {
				t.Errorf("Parse(%q) = %d, %v", text, id, err)
			}
		} else {
			plain := strings.NewReplacer("i", "1", "l", "1").Replace(strings.ToLower(text)[4:])
			if want := "ord_" + strings.ReplaceAll(plain, "o", "0"); id.String() != want {
				t.Errorf("%q reads as %d, which is %q, want %q", text, id, id, want)
			}
		}
		shown, err := typed.ParseShown[order](text)
		if err != nil {
			return
		}
		if back, err := typed.ParseShown[order](shown.String()); err != nil || back != shown {
			t.Errorf("%q reveals %d, and %q %d, %v", text, int64(shown), shown, int64(back), err)
		}
	})
}

// FuzzRoundTrip: every number comes back from its text, its shown text and its column.
func FuzzRoundTrip(f *testing.F) {
	for _, id := range some {
		f.Add(int64(id))
	}
	f.Add(rand.Int64())
	f.Fuzz(func(t *testing.T, n int64) {
		id := typed.ID[order](n)
		text, err := id.MarshalText()
		if n < 0 {
			if err == nil {
				t.Errorf("%d has the text %q", n, text)
			}
			return
		}
		if back, parseErr := typed.Parse[order](string(text)); err != nil || parseErr != nil || back != id {
			t.Errorf("%d is %q, %v, which reads as %d, %v", n, text, err, back, parseErr)
		}
		shown := typed.Shown[order](n)
		if back, err := typed.ParseShown[order](shown.String()); err != nil || back != shown {
			t.Errorf("%d is shown as %q, which reads as %d, %v", n, shown, int64(back), err)
		}
		v, err := id.Value()
		if back := typed.ID[order](0); err != nil || back.Scan(v) != nil || back != id {
			t.Errorf("%d is stored as %v, %v", n, v, err)
		}
	})
}
