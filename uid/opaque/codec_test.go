package opaque_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/uidring/uidring/uid"
	"github.com/uidring/uidring/uid/opaque"
)

// key returns the key of a version.
func key(version int) opaque.Key {
	return opaque.Key{Version: version, Secret: bytes.Repeat([]byte{byte(0xA0 + version)}, 16+8*(version%3))}
}

// codec returns the Codec of a kind.
func codec(tb testing.TB, kind string, current opaque.Key, old ...opaque.Key) *opaque.Codec {
	tb.Helper()
	c, err := opaque.New(kind, current, old...)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// TestHide hides and reveals ids, in text and JSON, with every version.
func TestHide(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(6, 3))
	for version := 1; version <= 3; version++ {
		c := codec(t, "order", key(version))
		for i := range 2000 {
			id := uid.ID(r.Int64() >> r.IntN(63))
			if i < 4 {
				id = []uid.ID{0, 1, math.MaxInt64, math.MaxInt64 - 1}[i]
			}
			code := c.Hide(id)
			if code.Version() != version || len(code.String()) != 13 {
				t.Fatalf("%d of version %d: %v of version %d", id, version, code, code.Version())
			}
			js, err := json.Marshal(map[string]opaque.ID{"id": code})
			if err != nil || string(js) != `{"id":"`+code.String()+`"}` {
				t.Fatalf("JSON of %v: %s, %v", code, js, err)
			}
			var back map[string]opaque.ID
			if err := json.Unmarshal(js, &back); err != nil || back["id"] != code {
				t.Fatalf("%s reads as %v, %v", js, back, err)
			}
			for _, text := range []string{code.String(), strings.ToLower(code.String())} {
				read, err := opaque.ParseID(text)
				if err != nil || read != code {
					t.Fatalf("%q reads as %v, %v, want %v", text, read, err, code)
				}
			}
			if got, err := c.Reveal(code); err != nil || got != id {
				t.Fatalf("%d is hidden as %v, which reveals %d, %v", id, code, got, err)
			}
		}
	}
}

// TestRotation: old codes stay readable, new ones have the new key, and a version without a key is
// an error. Another key or kind reveals another id.
func TestRotation(t *testing.T) {
	t.Parallel()
	const id = 961852771978444800
	before, during := codec(t, "order", key(1)), codec(t, "order", key(2), key(1))
	after, user := codec(t, "order", key(2)), codec(t, "user", key(1))
	old, fresh := before.Hide(id), during.Hide(id)
	if old == fresh || old.Version() != 1 || fresh.Version() != 2 || user.Hide(id) == old {
		t.Errorf("codes %v of version 1, %v of version 2, %v of another kind", old, fresh, user.Hide(id))
	}
	for _, code := range []opaque.ID{old, fresh} {
		if got, err := during.Reveal(code); err != nil || got != id {
			t.Errorf("%v of version %d reveals %d, %v", code, code.Version(), got, err)
		}
	}
	if _, err := after.Reveal(old); !errors.Is(err, opaque.ErrVersion) {
		t.Errorf("a version that was dropped: %v", err)
	}
	wrong := codec(t, "order", opaque.Key{Version: 1, Secret: []byte("another 16 bytes")})
	for name, c := range map[string]*opaque.Codec{"key": wrong, "kind": user} {
		if got, err := c.Reveal(old); err != nil || got == id || got < 0 {
			t.Errorf("the wrong %s reveals %d, %v, want some other id", name, got, err)
		}
	}
}

// TestZero: no codec reveals the zero ID, nor what JSON without the field or with its text leaves
// there.
func TestZero(t *testing.T) {
	t.Parallel()
	c := codec(t, "order", key(1), key(2), key(3))
	for _, js := range []string{`{}`, `{"id":null}`, `{"id":"0000000000000"}`} {
		var order struct {
			ID opaque.ID `json:"id"`
		}
		if err := json.Unmarshal([]byte(js), &order); err != nil {
			t.Fatal(err)
		}
		if id, err := c.Reveal(order.ID); !errors.Is(err, opaque.ErrVersion) || id != 0 {
			t.Errorf("%s reveals %d, %v, want ErrVersion", js, id, err)
		}
	}
	if c, err := opaque.New("order", opaque.Key{Secret: make([]byte, 16)}); err == nil {
		t.Errorf("a key of version 0 reveals the zero ID: %v", c)
	}
}

// TestAvalanche flips each bit of ids and of codes: half of the bits change, wherever the flip is.
func TestAvalanche(t *testing.T) {
	t.Parallel()
	const ids = 2000
	c := codec(t, "order", key(1))
	code := func(id uid.ID) uint64 { return number(t, c.Hide(id)) }
	r := rand.New(rand.NewPCG(6, 4))
	for bit := range 63 {
		forward, changes := 0, [63]int{}
		for range ids {
			id := uid.ID(r.Int64())
			diff := code(id) ^ code(id^1<<bit)
			forward += bits.OnesCount64(diff)
			for j := range changes {
				changes[j] += int(diff >> j & 1)
			}
		}
		if mean := float64(forward) / ids; math.Abs(mean-31.5) > 0.6 { // six standard errors
			t.Errorf("bit %d changes %.2f bits of the code, want 31.5", bit, mean)
		}
		for j, n := range changes {
			if math.Abs(float64(n)-ids/2) > 134 { // six standard deviations
				t.Errorf("bit %d changes bit %d of the code %d times of %d", bit, j, n, ids)
			}
		}
	}
}

// TestUniform hides 20,000 consecutive ids: their codes are spread evenly over 256 values of each
// byte, and so are the differences of neighbours.
func TestUniform(t *testing.T) {
	t.Parallel()
	const n = 20_000
	c := codec(t, "order", key(1))
	var counts, steps [7][256]int
	last := number(t, c.Hide(961852771978444800-1))
	for i := range uid.ID(n) {
		v := number(t, c.Hide(961852771978444800+i))
		for j := range counts {
			counts[j][byte(v>>(8*j))]++
			steps[j][byte((v-last)>>(8*j))]++
		}
		last = v
	}
	for name, all := range map[string][7][256]int{"codes": counts, "differences": steps} {
		for j, count := range all {
			chi := 0.0
			for _, k := range count {
				d := float64(k) - n/256.0
				chi += d * d / (n / 256.0)
			}
			// 255 degrees of freedom: below 150 and above 390 lies less than one in a million.
			if chi < 150 || chi > 390 {
				t.Errorf("byte %d of the %s: chi-square %.0f, want about 255", j, name, chi)
			}
		}
	}
}

// number returns the 63 bits of a code.
func number(tb testing.TB, code opaque.ID) uint64 {
	tb.Helper()
	text := code.String()
	high := strings.IndexByte("0123456789ABCDEFGHJKMNPQRSTVWXYZ", text[0]) & 7 // without the version
	id, err := uid.Base32.Parse(strconv.Itoa(high) + text[1:])
	if err != nil {
		tb.Fatal(err)
	}
	return uint64(id)
}

// TestRefused gives keys, texts and ids that are none.
func TestRefused(t *testing.T) {
	t.Parallel()
	for want, keys := range map[string][]opaque.Key{
		"Version is 4, want 1..3":     {{Version: 4, Secret: make([]byte, 16)}},
		"Version is 0, want 1..3":     {key(1), {Secret: make([]byte, 16)}},
		"Version is -1":               {key(1), {Version: -1, Secret: make([]byte, 16)}},
		"Version 1 is given twice":    {key(1), key(2), key(1)},
		"version 2 has 15 bytes":      {key(1), {Version: 2, Secret: []byte("fifteen secrets")}},
		"has 0 bytes, want 16, 24 or": {{Version: 1}},
	} {
		if _, err := opaque.New("order", keys[0], keys[1:]...); err == nil ||
			!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "fifteen") {
			t.Errorf("%v: %v, want an error with %q", keys, err, want)
		}
	}
	for _, text := range []string{"", "0", "000000000000", "00000000000000", "U000000000000",
		"000000000000U", "!000000000000",
		"00000000000000000001"} {
		if id, err := opaque.ParseID(text); !errors.Is(err, uid.ErrBadID) {
			t.Errorf("ParseID(%q) = %v, %v, want uid.ErrBadID", text, id, err)
		}
		id := codec(t, "order", key(1)).Hide(5)
		if err := id.UnmarshalText([]byte(text)); err == nil || id != codec(t, "order", key(1)).Hide(5) {
			t.Errorf("UnmarshalText(%q): %v, %v", text, id, err)
		}
	}
	c := codec(t, "order", key(1))
	none := c.Hide(-5)
	if _, err := json.Marshal(none); !errors.Is(err, uid.ErrBadID) {
		t.Errorf("JSON of a negative id's code: %v", err)
	}
	if b, err := none.AppendText([]byte("x")); !errors.Is(err, uid.ErrBadID) || string(b) != "x" {
		t.Errorf("text of a negative id's code: %q, %v", b, err)
	}
	if _, err := c.Reveal(none); !errors.Is(err, uid.ErrBadID) {
		t.Errorf("reveals the code of a negative id: %v", err)
	}
	if id, err := opaque.ParseID(none.String()); err == nil {
		t.Errorf("%q of a negative id reads as %v", none, id)
	}
}

// TestNoSecret formats and logs a key.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	k := opaque.Key{Version: 2, Secret: []byte("TOPSECRETTOPSECR")}
	js, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", k)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", k, "code", codec(t, "order", k).Hide(7))
	text := string(js) + log.String() + fmt.Sprintf("%v %+v %#v %s %x %d", k, &k, k, k, k, k)
	for _, secret := range []string{"TOPSECRET", "544f50", "84 79", "VE9QU0"} {
		if strings.Contains(text, secret) {
			t.Errorf("the secret as %q is in %s", secret, text)
		}
	}
	if !strings.Contains(text, "key of version 2") || !strings.Contains(text, codec(t, "order", k).Hide(7).String()) {
		t.Errorf("no version or code in %s", text)
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("0000000000000")
	f.Add("z0000000000ilo")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := opaque.ParseID(text)
		if err != nil {
			if !errors.Is(err, uid.ErrBadID) {
				t.Fatal(err)
			}
			return
		}
		if again, err := opaque.ParseID(id.String()); err != nil || again != id {
			t.Errorf("%q reads as %v, and that as %v, %v", text, id, again, err)
		}
	})
}

func BenchmarkHide(b *testing.B) {
	c := codec(b, "order", opaque.Key{Version: 1, Secret: make([]byte, 16)})
	b.ReportAllocs()
	id := uid.ID(961852771978444800)
	for b.Loop() {
		if c.Hide(id).Version() != 1 {
			b.Fatal("another version")
		}
		id++
	}
}

func BenchmarkReveal(b *testing.B) {
	c := codec(b, "order", opaque.Key{Version: 1, Secret: make([]byte, 16)})
	code := c.Hide(961852771978444800)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Reveal(code); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleCodec() {
	secret := []byte("16 random bytes!") // from the place where secrets are kept
	orders, err := opaque.New("order", opaque.Key{Version: 1, Secret: secret})
	if err != nil {
		fmt.Println(err)
		return
	}
	type order struct {
		ID    opaque.ID `json:"id"`
		Total int       `json:"total"`
	}
	shown, err := json.Marshal(order{ID: orders.Hide(961852771978444800), Total: 42})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(shown))

	var asked order
	if err := json.Unmarshal(shown, &asked); err != nil {
		fmt.Println(err)
		return
	}
	id, err := orders.Reveal(asked.ID)
	fmt.Println(id, err) // next: may the caller see this order?
	// Output:
	// {"id":"9Q9SCXNADS1TV","total":42}
	// 961852771978444800 <nil>
}
