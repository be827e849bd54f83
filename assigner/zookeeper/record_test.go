package zookeeper

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	want := record{Version: recordVersion, Token: newToken(), Instance: "web-1-\x00\"é", Host: "h", PID: 7,
		Layout: "41-10-12-0/1ms@2010-11-04T01:42:54.657Z", Until: 1 << 40, Front: 1}
	got, err := decodeRecord(want.encode())
	if err != nil || got != want {
		t.Errorf("decode(encode) = %+v, %v, want %+v", got, err, want)
	}
}

func TestDecodeRecordRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ data, want string }{
		{"", "unexpected end"},
		{"null", "version 0, want 1"},
		{"{}", "version 0, want 1"},
		{`{"v":2}`, "version 2, want 1"},
		{`{"v":1,"until_ms":-1}`, "until_ms -1, want 0..9007199254740992"},
		{`{"v":1,"until_ms":9007199254740993}`, "until_ms 9007199254740993"},
		{`{"v":1,"until_ms":99999999999999999999}`, "cannot unmarshal"},
		{`{"v":1,"front_ms":-1}`, "front_ms -1"},
		{`{"v":1,"token":7}`, "cannot unmarshal"},
		{strings.Repeat(" ", maxRecord+1), "16385 bytes, want at most 16384"},
	} {
		if _, err := decodeRecord([]byte(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("decode(%.40q): error %v, want one with %q", tt.data, err, tt.want)
		}
	}
}

// Whatever a node holds, decoding neither panics nor lets a time through that arithmetic could
// overflow on.
func FuzzDecodeRecord(f *testing.F) {
	f.Add([]byte(`{"v":1,"token":"A","instance":"web-1","until_ms":1,"front_ms":1}`))
	f.Add([]byte(`{"v":1,"until_ms":9007199254740992}`))
	f.Add([]byte("nonsense"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		if r.Until < 0 || r.Until > maxMillis || r.Front < 0 || r.Front > maxMillis {
			t.Errorf("decode(%q) = %+v, times out of range", b, r)
		}
		again, err := decodeRecord(r.encode())
		if err == nil && again != r {
			t.Errorf("decode(encode(%+v)) = %+v", r, again)
		}
	})
}

func FuzzUnseal(f *testing.F) {
	f.Add((&proof{Root: "/ids", Worker: 7, From: 1, Until: 2, Boot: "b", Inode: 3}).seal())
	f.Add([]byte(`{"v":1,"proof":{},"sha256":""}`))
	f.Add([]byte(`{"v":1,"proof":null,"sha256":"74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b"}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := unseal(b)
		if err != nil {
			return
		}
		if p.From < 0 || p.From > p.Until || p.Until > maxMillis {
			t.Errorf("unseal(%q) = %+v, a window that makes no sense", b, p)
		}
		again, err := unseal(p.seal())
		if err == nil && *again != *p {
			t.Errorf("unseal(seal(%+v)) = %+v", p, again)
		}
	})
}

// Rounding never shrinks a window below what was stamped.
func TestCeilMillis(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		t    time.Time
		want int64
		err  error
	}{
		{t: time.Unix(0, 0), want: 0},
		{t: time.Unix(0, 1), want: 1},
		{t: time.Unix(0, 999_999), want: 1},
		{t: time.Unix(0, 1_000_000), want: 1},
		{t: time.Unix(0, 1_000_001), want: 2},
		{t: time.Unix(0, -1), want: 0},
		{t: time.Unix(0, -1_000_001), err: errRange},
		{t: time.Time{}, err: errRange},
		{t: time.UnixMilli(maxMillis), want: maxMillis},
		{t: time.UnixMilli(maxMillis).Add(1), err: errRange},
	} {
		got, err := ceilMillis(tt.t)
		if !errors.Is(err, tt.err) || err == nil && (got != tt.want || millis(got).Before(tt.t)) {
			t.Errorf("ceilMillis(%v) = %d, %v, want %d, %v", tt.t, got, err, tt.want, tt.err)
		}
	}
}

func TestSlotNames(t *testing.T) {
	t.Parallel()
	for _, n := range []int64{0, 7, 1023, 1<<31 - 1} {
		if got, ok := slotNumber(slotName(n)); !ok || got != n {
			t.Errorf("slotNumber(%q) = %d, %v, want %d", slotName(n), got, ok, n)
		}
	}
	for _, name := range []string{"", "w-", "w-7", "w-00000000007", "w-000000000x", "w--000000001",
		"w-+000000001", "x-0000000001", "w-9999999999"} {
		if n, ok := slotNumber(name); ok {
			t.Errorf("slotNumber(%q) = %d, want none", name, n)
		}
	}
	if got, want := parents("/a/b/c"), []string{"/a", "/a/b", "/a/b/c"}; !slices.Equal(got, want) {
		t.Errorf("parents = %q, want %q", got, want)
	}
}

// The library pauses and fails waiting requests when retryStart is true: after each round without a
// connection, and never within one.
func TestHosts(t *testing.T) {
	t.Parallel()
	var h hosts
	h.Init([]string{"a", "b"})
	for i, want := range []struct {
		server string
		retry  bool
	}{{"a", false}, {"b", false}, {"a", true}, {"b", false}, {"a", true}} {
		if server, retry := h.Next(); server != want.server || retry != want.retry {
			t.Errorf("Next no. %d = %s, %v, want %s, %v", i, server, retry, want.server, want.retry)
		}
	}
	h.Connected()
	if server, retry := h.Next(); server != "b" || retry {
		t.Errorf("Next after a connection = %s, %v, want b, false", server, retry)
	}
	if h.Len() != 2 {
		t.Errorf("Len = %d, want 2", h.Len())
	}
}

// Clocks that are absurdly far away must not overflow the average.
func TestOffset(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		data  string
		mtime int64
		want  time.Duration
		ok    bool
	}{
		{"1000", 400, 600 * time.Millisecond, true},
		{"400", 1000, -600 * time.Millisecond, true},
		{"9007199254740992", 0, maxDuration, true},
		{"0", 1 << 60, -maxDuration, true},
		{"-1", 0, 0, false},
		{"", 0, 0, false},
		{"99999999999999999999", 0, 0, false},
	} {
		if got, ok := offset(node{data: []byte(tt.data), mtime: tt.mtime}); got != tt.want || ok != tt.ok {
			t.Errorf("offset(%s at %d) = %v, %v, want %v, %v", tt.data, tt.mtime, got, ok, tt.want, tt.ok)
		}
	}
}
