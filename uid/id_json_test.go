package uid_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/uidring/uidring/uid"
)

var (
	_ json.Marshaler   = uid.ID(0)
	_ json.Unmarshaler = (*uid.ID)(nil)
)

// document has an id at every place where encoding/json treats a value differently.
type document struct {
	ID       uid.ID            `json:"id"`
	Quoted   uid.ID            `json:"quoted,string"`
	Pointer  *uid.ID           `json:"pointer"`
	Optional uid.ID            `json:"optional,omitempty"`
	List     []uid.ID          `json:"list"`
	Names    map[uid.ID]string `json:"names"`
	Any      any               `json:"any"`
}

func TestIDInJSON(t *testing.T) {
	t.Parallel()
	big := uid.ID(9007199254740993) // 2^53+1, which a JavaScript number cannot hold
	in := document{
		ID: big, Quoted: 7, Pointer: &big, List: []uid.ID{0, big, math.MaxInt64},
		Names: map[uid.ID]string{big: "a", 7: "b"}, Any: big,
	}
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"9007199254740993","quoted":"7","pointer":"9007199254740993",` +
		`"list":["0","9007199254740993","9223372036854775807"],"names":{"7":"b","9007199254740993":"a"},"any":"9007199254740993"}`
	if string(data) != want {
		t.Errorf("got  %s\nwant %s", data, want)
	}
	var out document
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	if out.Any != "9007199254740993" {
		t.Errorf("any is %v, want the string", out.Any)
	}
	in.Any, out.Any = nil, nil
	if fmt.Sprint(in.ID, in.Quoted, *in.Pointer, in.List, in.Names) != fmt.Sprint(out.ID,
		out.Quoted, *out.Pointer, out.List, out.Names) {
		t.Errorf("got %+v back, want %+v", out, in)
	}
}

func TestIDFromJSON(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   string
		want uid.ID
	}{
		{`"0"`, 0},
		{`0`, 0},
		{`"9007199254740993"`, 9007199254740993},
		{`9007199254740991`, 9007199254740991}, // 2^53-1, the last that no float64 rounds to
		{`"9223372036854775807"`, math.MaxInt64},
		{` "12" `, 12},
		{"\n12\t", 12},
		{`"\u0031\u0032"`, 12},
		{`null`, 77},
	} {
		id := uid.ID(77)
		if err := json.Unmarshal([]byte(tc.in), &id); err != nil || id != tc.want {
			t.Errorf("Unmarshal(%s) = %d, %v, want %d", tc.in, id, err, tc.want)
		}
	}
	// Null ends a pointer and leaves a value, one that no number may set, too.
	id := uid.ID(5)
	doc := document{ID: math.MaxInt64, Pointer: &id}
	if err := json.Unmarshal([]byte(`{"id":null,"pointer":null}`), &doc); err != nil ||
		doc.ID != math.MaxInt64 || doc.Pointer != nil {
		t.Errorf("after null: id %d, pointer %v, %v, want the largest and nil", doc.ID, doc.Pointer, err)
	}
}

func TestIDFromJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{`1.0`, `has '.' at index 1`},
		{`1e3`, `has 'e' at index 1`},
		{`1E3`, `has 'E' at index 1`},
		{`-1`, "want a string or a number of digits"},
		{`-0`, "want a string or a number of digits"},
		{`"-1"`, `has '-' at index 0`},
		{`"1.0"`, `has '.' at index 1`},
		{`""`, "has 0 bytes"},
		{`" 1"`, `has ' ' at index 0`},
		{`"\u0041"`, `has 'A' at index 0`},
		{`"null"`, `has 'n' at index 0`},
		{`9223372036854775808`, "is above 9223372036854775807"},
		{`"9223372036854775808"`, "is above 9223372036854775807"},
		{`18446744073709551617`, "has 20 bytes"},
		{`9007199254740992`, "a browser has rounded it"}, // what 2^53+1 is as a float64
		{`9007199254740993`, "a browser has rounded it"},
		{`9223372036854775807`, "JSON number 9223372036854775807 is above 9007199254740991"},
		{`true`, "JSON value is"},
		{`false`, "JSON value is"},
		{`[]`, "JSON value is"},
		{`["1"]`, "JSON value is"},
		{`{}`, "JSON value is"},
		{`"` + strings.Repeat("1", 1<<20) + `"`, "has 1048576 bytes"},
		{`[` + strings.Repeat("1,", 1<<18) + `1]`, "JSON value is"},
	} {
		id := uid.ID(77)
		err := json.Unmarshal([]byte(tc.in), &id)
		checkBadID(t, fmt.Sprintf("Unmarshal(%.30s)", tc.in), id-77, err, tc.want)
	}
	// What encoding/json would never pass on is refused all the same.
	for _, in := range []string{"", `"`, `"1`, `1"`, `nul`, `"\u00"`, `"\`, " 1"} {
		id := uid.ID(77)
		err := id.UnmarshalJSON([]byte(in))
		checkBadID(t, fmt.Sprintf("UnmarshalJSON(%q)", in), id-77, err, "")
	}
	// Before Go 1.27 the tag ",string" takes the quotes off, so that nobody can tell the string from
	// a number; since then it leaves them to UnmarshalJSON.
	var quoted struct {
		ID uid.ID `json:"id,string"`
	}
	err := json.Unmarshal([]byte(`{"id":"9007199254740993"}`), &quoted)
	exact := err == nil && quoted.ID == 9007199254740993
	if !exact && (!errors.Is(err, uid.ErrBadID) || quoted.ID != 0 ||
		!strings.Contains(err.Error(), `without the tag ",string"`)) {
		t.Errorf("an id above 2^53 with the tag: %v, %v, want it, or an error that names the tag",
			int64(quoted.ID), err)
	}
	var names map[uid.ID]string
	if err := json.Unmarshal([]byte(`{"12x":""}`), &names); !errors.Is(err, uid.ErrBadID) {
		t.Errorf("a bad key: %v, want ErrBadID", err)
	}
	if data, err := json.Marshal(map[string]uid.ID{"id": -1}); !errors.Is(err, uid.ErrBadID) {
		t.Errorf("Marshal of a negative id = %s, %v, want ErrBadID", data, err)
	}
}

// TestJSONNumber: a JSONNumber reads and writes every id as a number, and refuses what no id is.
func TestJSONNumber(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]uid.JSONNumber{
		`0`: 0, `9007199254740992`: 1 << 53, `9007199254740993`: 1<<53 + 1,
		`9223372036854775807`: math.MaxInt64, `"9223372036854775807"`: math.MaxInt64, `null`: 77,
	} {
		n := uid.JSONNumber(77)
		if err := json.Unmarshal([]byte(in), &n); err != nil || n != want {
			t.Errorf("Unmarshal(%s) = %d, %v, want %d", in, n, err, want)
		}
		if out, err := json.Marshal(n); err != nil || string(out) != uid.ID(want).String() {
			t.Errorf("Marshal(%d) = %s, %v, want the number", n, out, err)
		}
	}
	for in, want := range map[string]string{
		`1.0`: `has '.' at index 1`, `1e3`: `has 'e' at index 1`, `-1`: "want a string or a number",
		`9223372036854775808`: "is above 9223372036854775807", `true`: "JSON value is", `""`: "has 0 bytes",
	} {
		n := uid.JSONNumber(77)
		err := json.Unmarshal([]byte(in), &n)
		checkBadID(t, fmt.Sprintf("Unmarshal(%s)", in), uid.ID(n)-77, err, want)
	}
	if data, err := json.Marshal(uid.JSONNumber(-1)); !errors.Is(err, uid.ErrBadID) {
		t.Errorf("Marshal of a negative id = %s, %v, want ErrBadID", data, err)
	}
}

// FuzzIDJSON: whatever JSON is read as an id is written as a string that is read as the same one.
func FuzzIDJSON(f *testing.F) {
	for _, g := range goldenIDs() {
		f.Add([]byte(g.decimal))
		f.Add([]byte(`"` + g.decimal + `"`))
	}
	f.Add([]byte(`"\u0031"`))
	f.Add([]byte(`1e3`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		id := uid.ID(77)
		if err := json.Unmarshal(data, &id); err != nil {
			if id != 77 {
				t.Fatalf("Unmarshal(%q) fails with %v and sets %d", data, err, id)
			}
			return
		}
		out, err := json.Marshal(id)
		if err != nil || string(out) != `"`+id.String()+`"` {
			t.Fatalf("Marshal(%d) = %s, %v", id, out, err)
		}
		var back uid.ID
		if err := json.Unmarshal(out, &back); err != nil || back != id {
			t.Fatalf("%q reads as %d, is written %s and reads as %d, %v", data, id, out, back, err)
		}
		// Direct calls take what the decoder takes.
		direct := uid.ID(77)
		if err := direct.UnmarshalJSON([]byte(strings.TrimSpace(string(data)))); err != nil || direct != id {
			t.Fatalf("UnmarshalJSON(%q) = %d, %v, want %d", data, direct, err, id)
		}
	})
}

// TestIDFromJSONMalformed passes values to the method that encoding/json would refuse.
func TestIDFromJSONMalformed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{`x12"`, "want a string or a number of digits"},
		{`"12x`, "want a string or a number of digits"},
		{`"`, "want a string or a number of digits"},
		{`"\u00"`, "is not a string"},
		{``, "is empty"},
	} {
		id := uid.ID(77)
		err := id.UnmarshalJSON([]byte(tc.in))
		checkBadID(t, fmt.Sprintf("UnmarshalJSON(%s)", tc.in), id-77, err, tc.want)
	}
}
