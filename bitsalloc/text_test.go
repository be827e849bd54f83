package bitsalloc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
)

func TestLayoutString(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		in   bitsalloc.Layout
		want string
	}{
		{bitsalloc.Layout{}, "28-22-13-0/1s@2026-01-01T00:00:00Z"},
		{bitsalloc.Layout{TimeBits: 41, WorkerBits: 10, SeqBits: 10, GeneBits: 2,
			Tick: time.Millisecond}, "41-10-10-2/1ms@2026-01-01T00:00:00Z"},
		{bitsalloc.Layout{Tick: 90 * time.Minute}, "28-22-13-0/1h30m0s@2026-01-01T00:00:00Z"},
		{bitsalloc.Layout{Epoch: time.Date(2016, 5, 20, 0, 0, 0, 0, time.FixedZone("CST", 8*3600))},
			"28-22-13-0/1s@2016-05-19T16:00:00Z"},
		{bitsalloc.Layout{Epoch: time.Unix(-1, 5)}, "28-22-13-0/1s@1969-12-31T23:59:59.000000005Z"},
	} {
		if got := tc.in.String(); got != tc.want {
			t.Errorf("String() = %s, want %s", got, tc.want)
		}
	}
}

// Equal meaning and equal text are the same thing: every field shows, and what is not a field does
// not.
func TestLayoutStringIsCanonical(t *testing.T) {
	t.Parallel()
	base := bitsalloc.Layout{TimeBits: 30, WorkerBits: 10, SeqBits: 10, GeneBits: 3,
		Tick: time.Second, Epoch: time.Unix(1e9, 0)}
	for name, change := range map[string]func(*bitsalloc.Layout){
		"TimeBits":   func(l *bitsalloc.Layout) { l.TimeBits++ },
		"WorkerBits": func(l *bitsalloc.Layout) { l.WorkerBits++ },
		"SeqBits":    func(l *bitsalloc.Layout) { l.SeqBits++ },
		"GeneBits":   func(l *bitsalloc.Layout) { l.GeneBits++ },
		"Tick":       func(l *bitsalloc.Layout) { l.Tick++ },
		"Epoch":      func(l *bitsalloc.Layout) { l.Epoch = l.Epoch.Add(1) },
	} {
		l := base
		change(&l)
		if l.String() == base.String() {
			t.Errorf("another %s gives the same text, %s", name, l)
		}
	}
	same := base
	same.Epoch = base.Epoch.In(time.FixedZone("", -3600))
	if same.String() != base.String() {
		t.Errorf("another zone gives another text, %s, want %s", same, base)
	}
}

func TestParseLayout(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"28-22-13", "28-22-13-0/1s@2026-01-01T00:00:00Z"},
		{"28-18-13-4", "28-18-13-4/1s@2026-01-01T00:00:00Z"},
		{"41-10-12/1ms", "41-10-12-0/1ms@2026-01-01T00:00:00Z"},
		{"41-10-12-0/1ms@2010-11-04T01:42:54.657Z", "41-10-12-0/1ms@2010-11-04T01:42:54.657Z"},
		{"41-10-12@2010-11-04T09:42:54.657+08:00", "41-10-12-0/1s@2010-11-04T01:42:54.657Z"},
		{"41-0-12/0.25s", "41-0-12-0/250ms@2026-01-01T00:00:00Z"},
		{"41-10-12+99", "41-10-12-0/1s+99@2026-01-01T00:00:00Z"},
		{"62-0-1+4611686018427387903", "62-0-1-0/1s+4611686018427387903@2026-01-01T00:00:00Z"},
		{strings.Repeat("0", 120) + "28-22-13", "28-22-13-0/1s@2026-01-01T00:00:00Z"},
	} {
		l, err := bitsalloc.ParseLayout(tc.in)
		if err != nil || l.String() != tc.want {
			t.Errorf("ParseLayout(%q) = %v, %v, want %s", tc.in, l, err, tc.want)
		}
	}
	for _, l := range presets() {
		back, err := bitsalloc.ParseLayout(l.String())
		if err != nil || back != mustNew(t, l).Layout() {
			t.Errorf("ParseLayout(%s) = %v, %v, want the layout itself", l, back, err)
		}
	}
}

func TestParseLayoutRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ in, want string }{
		{"", "has 1 widths"},
		{"28-22", "has 2 widths"},
		{"28-22-13-0-0", "has 5 widths"},
		{"28-22-x", `SeqBits is "x"`},
		{"28--22-13", `WorkerBits is ""`},
		{"+28-22-13", "has 1 widths"},
		{" 28-22-13", `TimeBits is " 28"`},
		{"28-22-99999999999999999999", "SeqBits is"},
		{"0-0-0", "TimeBits is 0"},
		{"29-22-13", "= 64, want at most 63"},
		{"28-22-13+", `FirstTick is ""`},
		{"28-22-13+-1", `FirstTick is "-1"`},
		{"28-22-13+268435456", "FirstTick is 268435456, want 0..268435455"},
		{"62-0-1+4611686018427387904", "FirstTick is 4611686018427387904, want 0..4611686018427387903"},
		{"62-0-1+9223372036854775808", `FirstTick is "9223372036854775808"`},
		{"28-22-13/", `Tick is ""`},
		{"28-22-13/0s", `Tick is "0s"`},
		{"28-22-13/-1s", `Tick is "-1s"`},
		{"28-22-13/1", `Tick is "1"`},
		{"28-22-13@", `Epoch is ""`},
		{"28-22-13@2026-01-01", "want an RFC 3339 instant"},
		{"28-22-13@2026-01-01T00:00:00", "want an RFC 3339 instant"},
		{"28-22-13@2026-01-01 00:00:00Z", "want an RFC 3339 instant"},
		{"28-22-13@2026-02-31T00:00:00Z", "want an RFC 3339 instant"},
		{"28-22-13@0001-01-01T00:00:00Z", "want an RFC 3339 instant"},
		{"28-22-13@0000-01-01T00:00:00Z", "Epoch is in the year 0"},
		{strings.Repeat("0", 121) + "28-22-13", "has 129 bytes, want at most 128"},
		{strings.Repeat("1", 1<<20), "has 1048576 bytes, want at most 128"},
	} {
		l, err := bitsalloc.ParseLayout(tc.in)
		if !errors.Is(err, bitsalloc.ErrLayout) || l != (bitsalloc.Layout{}) {
			t.Errorf("ParseLayout(%.40q) = %v, %v, want the zero Layout and an error that wraps "+
				"ErrLayout", tc.in, l, err)
			continue
		}
		if !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 400 {
			t.Errorf("ParseLayout(%.40q): error %q does not say %q in at most 400 bytes", tc.in, err, tc.want)
		}
	}
}

// FuzzParseLayout: what is read is valid, and its text is read back as the same layout.
func FuzzParseLayout(f *testing.F) {
	f.Add("28-22-13-0/1s@2026-01-01T00:00:00Z")
	f.Add("41-10-12/1ms")
	f.Add("41-10-12/1ms+99@2026-01-01T00:00:00Z")
	f.Add("1-0-1-61/2562047h47m16.854775807s@9999-12-31T23:59:59.999999999Z")
	f.Add("28-22-13@2016-05-20T00:00:00+08:00")
	f.Fuzz(func(t *testing.T, text string) {
		l, err := bitsalloc.ParseLayout(text)
		if err != nil {
			if !errors.Is(err, bitsalloc.ErrLayout) {
				t.Fatalf("%v does not wrap ErrLayout", err)
			}
			return
		}
		mustNew(t, l)
		back, err := bitsalloc.ParseLayout(l.String())
		if err != nil || back != l {
			t.Fatalf("%q reads as %v, whose text reads as %v, %v", text, l, back, err)
		}
	})
}

// TestLayoutAsText reads a layout where configuration comes from: a flag, JSON, nothing at all.
func TestLayoutAsText(t *testing.T) {
	t.Parallel()
	type config struct{ Layout bitsalloc.Layout }
	var c config
	flags := flag.NewFlagSet("test", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.TextVar(&c.Layout, "layout", bitsalloc.Layout{}, "bits")
	if err := flags.Parse([]string{"-layout", "41-10-12/1ms@2026-01-01T00:00:00Z"}); err != nil {
		t.Fatal(err)
	}
	const want = "41-10-12-0/1ms@2026-01-01T00:00:00Z"
	if got := c.Layout.String(); got != want {
		t.Errorf("the flag reads as %s, want %s", got, want)
	}
	b, err := json.Marshal(c)
	if err != nil || string(b) != `{"Layout":"`+want+`"}` {
		t.Errorf("JSON is %s, %v", b, err)
	}
	var back config
	if err := json.Unmarshal(b, &back); err != nil || back.Layout.String() != want {
		t.Errorf("JSON reads as %v, %v", back.Layout, err)
	}
	if err := json.Unmarshal([]byte(`{"Layout":""}`), &back); err != nil ||
		back.Layout.String() != (bitsalloc.Layout{}).String() {
		t.Errorf("the empty text reads as %v, %v, want the default layout", back.Layout, err)
	}
	before := back.Layout
	if err := json.Unmarshal([]byte(`{"Layout":"41-10"}`),
		&back); !errors.Is(err, bitsalloc.ErrLayout) || back.Layout != before {
		t.Errorf("a bad text reads as %v, %v, want ErrLayout and no change", back.Layout, err)
	}
	if _, err := (bitsalloc.Layout{TimeBits: 40, WorkerBits: 20,
		SeqBits: 20}).MarshalText(); !errors.Is(err, bitsalloc.ErrLayout) {
		t.Errorf("a layout of 80 bits has a text: %v", err)
	}
	var line bytes.Buffer
	slog.New(slog.NewTextHandler(&line, nil)).Info("", "layout", c.Layout)
	if got := line.String(); !strings.HasSuffix(got, "layout="+want+"\n") {
		t.Errorf("logged as %s, want %s", got, want)
	}
}
