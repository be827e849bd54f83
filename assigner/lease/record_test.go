package lease

import (
	"strings"
	"testing"
	"time"
)

// TestSlotNames: a worker id has one name, and no other text is one.
func TestSlotNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int64{
		"slot-0": 0, "slot-7": 7, "slot-9007199254740992": maxMillis,
		"header": none, "slot-": none, "slot-x": none, "7": none, "slot--1": none, "slot-07": none,
		"slot-+7": none, "slot-7 ": none, "slot-9007199254740993": none, "slot-9223372036854775808": none,
	} {
		worker, ok := slotWorker(name)
		if ok != (want != none) || ok && worker != want {
			t.Errorf("slotWorker(%q) = %d, %v, want %d", name, worker, ok, want)
		}
	}
}

// TestRows: which rows are the same change, which are the same as they were left, and which are older.
func TestRows(t *testing.T) {
	t.Parallel()
	known := row{worker: 1, FencingToken: 5, Token: "a", Owner: "me", Until: 100}
	for _, tt := range []struct {
		name                  string
		change                func(r *row)
		changedBy, is, behind bool
	}{
		{"the same", func(*row) {}, true, true, false},
		{"another character set", func(r *row) { r.Owner = "m?" }, true, true, false},
		{"given back by hand", func(r *row) { r.Owner = "" }, true, false, false},
		{"longer by hand", func(r *row) { r.Until++ }, true, false, false},
		{"shorter by hand", func(r *row) { r.Until-- }, true, false, true},
		{"another one's", func(r *row) { r.Token = "b" }, false, false, true},
		{"a later one", func(r *row) { r.FencingToken, r.Token = 6, "b" }, false, false, false},
		{"a later one with an earlier end", func(r *row) {
			r.FencingToken, r.Token, r.Until = 6, "b", 99
		}, false, false, true},
		{"an earlier one", func(r *row) { r.FencingToken, r.Token = 4, "b" }, false, false, true},
		{"an earlier one with its token", func(r *row) { r.FencingToken = 4 }, false, false, true},
		{"a copy under another name", func(r *row) { r.worker = 2 }, false, false, false},
		{"nothing", func(r *row) { *r = row{worker: 1} }, false, false, true},
	} {
		r := known
		tt.change(&r)
		if got := r.changedBy(known); got != tt.changedBy {
			t.Errorf("%s: changedBy = %v", tt.name, got)
		}
		if got := r.is(known); got != tt.is {
			t.Errorf("%s: is = %v", tt.name, got)
		}
		if got := r.behind(known); got != tt.behind {
			t.Errorf("%s: behind = %v", tt.name, got)
		}
	}
}

// TestCeilMillis: an end is stored as the first millisecond that is not before it, from 0 on.
func TestCeilMillis(t *testing.T) {
	t.Parallel()
	for at, want := range map[time.Time]int64{
		{}: 0, time.Unix(-1, 0): 0, time.Unix(0, 0): 0, time.Unix(0, 1): 1, time.Unix(0, 1e6): 1,
		time.Unix(0, 1e6+1): 2,
	} {
		if got := ceilMillis(at); got != want {
			t.Errorf("ceilMillis(%v) = %d, want %d", at, got, want)
		}
	}
}

// TestParseRow: an entry that is no slot of this form is an error that says why.
func TestParseRow(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`{"v":1,"gen":0,"token":"1","until_ms":0}`:                               "",
		`{"v":1,"gen":9007199254740992,"token":"1","until_ms":9007199254740992}`: "",
		`{"v":1,"gen":9007199254740993,"token":"1","until_ms":0}`:                "gen 9007199254740993, want 0 to",
		`{"v":1,"gen":-1,"token":"1","until_ms":0}`:                              "gen -1, want 0 to",
		`{"v":1,"token":"1","until_ms":0}`:                                       "gen -1, want 0 to",
		`{"v":1,"gen":1,"token":"1","until_ms":-1}`:                              "until_ms -1, want 0 to",
		`{"v":1,"gen":1,"token":"1","until_ms":9007199254740993}`:                "until_ms 9007199254740993, want",
		`{"v":2,"gen":1,"token":"1","until_ms":0}`:                               "version 2, want 1",
		`{"v":1,"gen":"1"`: "slot-3: ",
	} {
		r, err := parseRow(Entry{Name: "slot-3", Version: "1", Value: []byte(value)})
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || r.worker != 3 {
			t.Errorf("parseRow(%s) = worker %d, %v, want %q", value, r.worker, err, want)
		}
	}
	if r, err := parseRow(Entry{Name: "slot-3"}); err != nil || r.exists() || r.worker != 3 || r.FencingToken != 0 {
		t.Errorf("parseRow of no entry = %+v, %v", r, err)
	}
}
