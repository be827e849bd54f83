package number_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/number"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/uid/opaque"
)

// generator returns a Generator over src that the test closes. It does not refresh by itself.
func generator(tb testing.TB, src segment.Source) *segment.Generator {
	tb.Helper()
	g, err := segment.New(tb.Context(), src, &segment.Options{Refresh: -1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := g.Close(); err != nil {
			tb.Error(err)
		}
	})
	return g
}

// numbers returns the numbers of a format, in memory, with keys if it has a hidden counter.
func numbers(tb testing.TB, format string, at time.Time, keys ...opaque.Key) (*number.Number, error) {
	tb.Helper()
	return number.New(tb.Context(), generator(tb, &segmenttest.Counters{}), "order", format, &number.Options{
		Keys: keys, Clock: func() time.Time { return at },
	})
}

// next returns a number.
func next(tb testing.TB, n *number.Number, key ...string) string {
	tb.Helper()
	text, err := n.Next(tb.Context(), key...)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

var secret = opaque.Key{Version: 1, Secret: []byte("sixteen bytes ok")}

// sunday is the last day of the ISO week 47 of 2026.
var sunday = time.Date(2026, 11, 22, 13, 4, 5, 6, time.UTC)

// TestFormats writes and reads the first number of formats of every kind.
func TestFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"{n 6 never}":                           "000001",
		"{20060102}{n 6 day}":                   "20261122000001",
		"INV-{2006-01-02}-{n 4 day}":            "INV-2026-11-22-0001",
		"{week}-{n 3 week}":                     "202647-001",
		"{2006}Q{quarter}-{n 3 quarter}":        "2026Q4-001",
		"{0601}{n crockford 4 month}":           "26110001",
		"{2006002}{n plain 4 day}":              "20263262223",
		"{20060102150405}{n 4 day}":             "202611221304050001",
		"{2006}/{n [0-9A-F] 5 year}":            "2026/00001",
		"T{20060102}{n 5 day}{check damm}":      "",
		"{20060102}-{n 6 day}-{check luhn}":     "20261122-000001-2",
		"{20060102}-{n 6 day}-{check damm}":     "",
		"{20060102}-{n 6 day}-{check mod11,10}": "20261122-000001-4",
		"INV{2006}-{n 6 year}-{check mod37,36}": "INV2026-000001-M",
		"{06}{quarter}{n [ab] 5 quarter}":       "264aaaab",
		"{20060102}{n digits 3 month}":          "20261122001",
		"{2006}{002}{week}{n 3 week}":           "2026326202647001",
		"{2006.01.02_15:04}/{n 3 day}":          "2026.11.22_13:04/001",
	} {
		n, err := numbers(t, format, sunday)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", format, err)
			}
			continue
		}
		got := next(t, n)
		if got != want && want != "" {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
		p, err := n.Parse(got)
		if err != nil || p.Count != 1 || p.Number != got || !strings.HasPrefix(p.Tag, "order@") {
			t.Errorf("%s: Parse(%q) = %+v, %v", format, got, p, err)
		}
	}
}

// TestKeys: keys stand in the number, and each has its own counter.
func TestKeys(t *testing.T) {
	t.Parallel()
	n, err := numbers(t, "{shop upper 2}-{20060102}-{till digits 1-3}-{n 6 day}-{check mod37,36}", sunday)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct{ shop, till, text string }{
		{"BJ", "7", "BJ-20261122-7-000001-"}, {"BJ", "7", "BJ-20261122-7-000002-"},
		{"SH", "7", "SH-20261122-7-000001-"}, {"BJ", "77", "BJ-20261122-77-000001-"},
	} {
		text := next(t, n, want.shop, want.till)
		p, err := n.Parse(text)
		if !strings.HasPrefix(text, want.text) || err != nil || p.Keys[0] != want.shop || p.Keys[1] != want.till ||
			p.Tag != "order@20261122@"+want.shop+"@"+want.till || !p.Start.Equal(sunday.Truncate(24*time.Hour)) {
			t.Errorf("%q, which reads as %+v, %v, want %s", text, p, err, want.text)
		}
	}
	for _, keys := range [][]string{nil, {"BJ"}, {"BJ", "7", "8"}, {"bj", "7"}, {"B", "7"}, {"BJX", "7"}, {"BJ", ""},
		{"BJ", "1234"}, {"BJ", "7@"}, {"B\x00", "7"}, {"Bé", "7"}} {
		if text, err := n.Next(t.Context(), keys...); !errors.Is(err, number.ErrKey) {
			t.Errorf("Next(%q) = %q, %v, want ErrKey", keys, text, err)
		}
		if _, err := n.Fill(t.Context(), make([]string, 2), keys...); !errors.Is(err, number.ErrKey) {
			t.Errorf("Fill(%q) = %v, want ErrKey", keys, err)
		}
	}
	if got := n.Keys(); len(got) != 2 || got[0] != "shop" || got[1] != "till" {
		t.Errorf("Keys = %q", got)
	}
}

// TestRefusedFormats: an error names the place and the field.
func TestRefusedFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"":                                     "has no counter",
		"ORD":                                  "has no counter",
		"{n 6 day":                             "at 1",
		"{n 6}":                                "0 periods",
		"{20060102}{n 6}":                      "at 11",
		"{n 6 day never}":                      "2 periods",
		"{n 6 day}":                            "the number does not say which",
		"{02}{n 6 day}":                        "the number does not say which",
		"{0102}{n 6 day}":                      "with its year",
		"{200602}{n 6 day}":                    "with its year",
		"{2006}{n 6 month}":                    "each month",
		"{quarter}{n 6 quarter}":               "each quarter",
		"{week}{n 6 year}":                     "each year",
		"{2006}{quarter}{n 6 month}":           "each month",
		"{2006}{n 6 week}":                     "each week",
		"{n 6 never}{n 6 never}":               "two counters",
		"{n 0 never}":                          `"0"`,
		"{n 19 never}":                         "2^62",
		"{n x never}":                          `the alphabet is "x"`,
		"{n 6 fortnight}":                      "fortnight",
		"{n 5 never hidden}":                   "1000000 or more",
		"{n 8 never hidden gapless}":           "one of them",
		"{version}{n 8 never}":                 "{version}",
		"{version}{version}{n 8 never hidden}": "two versions",
		"{n 6-8 never}":                        `"6-8"`,
		"{shop upper 1-3}{n 6 never}":          "at 1",
		"{shop upper 1-3}{till digits 2}{n 6 never}": "at 1",
		"{shop upper 1-3}X{n 6 never}":               "want a separator",
		"{shop upper 1-3}x{n 6 never}":               "want a separator", // as databases compare
		"{shop upper 3-1}-{n 6 never}":               `"3-1"`,
		"{shop upper 2}{shop upper 2}{n 6 never}":    "two keys",
		"{shop lower 2}{n 6 never}":                  `"lower"`,
		"{shop upper}{n 6 never}":                    "2 words",
		"{1shop upper 2}{n 6 never}":                 "key's name",
		"{}{n 6 never}":                              "is empty",
		"{Jan}{n 6 never}":                           `"Jan"`,
		"{2006Jan}{n 6 never}":                       `"2006Jan"`,
		"{-2006}{n 6 never}":                         `"-2006"`,
		"{n 6 never}{check crc}":                     "crc",
		"{n 6 never}{check}":                         "{check luhn}",
		"{check luhn}{n 6 never}":                    "last field",
		"{n 6 never}{check luhn}x":                   "last field",
		"INV{n 6 never}{check luhn}":                 "cannot hold 'I'",
		"inv{n 6 never}{check mod37,36}":             "cannot hold 'i'",
		"{shop upper 2}{n 6 never}{check damm}":      "cannot hold 'A'",
		"{n crockford 6 never}{check mod11,10}":      "cannot hold 'A'",
		"A B{n 6 never}":                             `"A B"`,
		"编号{n 6 never}":                              "printable ASCII",
		"A}{n 6 never}":                              "braces",
		"{shop upper 60}{n 6 never}":                 "at most 64",
		"{shop upper 40}{n 6 never}":                 "name@period@keys",
		strings.Repeat("x", 161):                     "at most 160",
		"{n 6 never gapless}":                        "NewGapless",
	} {
		_, err := numbers(t, format, sunday, secret)
		if !strings.Contains(format, "hidden") {
			_, err = numbers(t, format, sunday)
		}
		if !errors.Is(err, number.ErrFormat) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrFormat with %q", format, err, want)
		}
	}
}

// TestRefusedOptions: zones without a name, keys that do not fit the format, and names.
func TestRefusedOptions(t *testing.T) {
	t.Parallel()
	const hidden = "{n 8 never hidden}"
	two := opaque.Key{Version: 2, Secret: secret.Secret}
	for name, tt := range map[string]struct {
		name, format string
		opts         number.Options
		want         string
	}{
		"local":       {"order", "{n 6 never}", number.Options{Zone: time.Local}, "Zone"},
		"nameless":    {"order", "{n 6 never}", number.Options{Zone: time.FixedZone("", 3600)}, "Zone"},
		"no key":      {"order", hidden, number.Options{}, "Keys is empty"},
		"two keys":    {"order", hidden, number.Options{Keys: []opaque.Key{secret, two}}, "{version}"},
		"not hidden":  {"order", "{n 6 never}", number.Options{Keys: []opaque.Key{secret}}, "not hidden"},
		"twice":       {"order", "{version}" + hidden, number.Options{Keys: []opaque.Key{secret, secret}}, "twice"},
		"version 4":   {"order", hidden, number.Options{Keys: []opaque.Key{{Version: 4}}}, "1..3"},
		"short":       {"order", hidden, number.Options{Keys: []opaque.Key{{Version: 1}}}, "16, 24 or 32"},
		"empty name":  {"", "{n 6 never}", number.Options{}, "the name"},
		"upper case":  {"Order", "{n 6 never}", number.Options{}, "the name"},
		"at":          {"a@b", "{n 6 never}", number.Options{}, "the name"},
		"underscore":  {"a_b", "{n 6 never}", number.Options{}, "1..24 of a-z, 0-9 and -"},
		"a long name": {strings.Repeat("a", 25), "{n 6 never}", number.Options{}, "the name"},
	} {
		_, err := number.New(t.Context(), generator(t, &segmenttest.Counters{}), tt.name, tt.format, &tt.opts)
		if !errors.Is(err, number.ErrFormat) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want ErrFormat with %q", name, err, tt.want)
		}
	}
}

// TestRefusedTexts: what Next does not write is no number.
func TestRefusedTexts(t *testing.T) {
	t.Parallel()
	n, err := numbers(t, "{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}", sunday)
	if err != nil {
		t.Fatal(err)
	}
	fine := next(t, n, "BJ")
	sum := func(text string) string { // the right check character: the one that is accepted, if any
		for _, c := range "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ" {
			if _, err := n.Parse(text + string(c)); err == nil || !strings.Contains(err.Error(), "does not fit") {
				return text + string(c)
			}
		}
		return text
	}
	for _, text := range []string{
		"", fine[:len(fine)-1], fine + "0", " " + fine, strings.ToLower(fine), "BJ_" + fine[3:],
		sum("BJ-20260230-000001-"), sum("BJ-20261322-000001-"), sum("BJ-20261100-000001-"),
		sum("BJ-20261122-000000-"), sum("B1-20261122-000001-"), "SH" + fine[2:], fine[:11] + "-000002-" + fine[19:],
		"JB" + fine[2:], strings.Repeat("B", 1<<20),
	} {
		if p, err := n.Parse(text); !errors.Is(err, number.ErrText) || len(err.Error()) > 400 {
			t.Errorf("Parse(%.40q) = %+v, %v, want ErrText", text, p, err)
		}
	}
	twice, err := numbers(t, "{2006}{2006-002}-{week}-{n 3 day}", sunday)
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		"20262026-326-202647-001": true, "20262025-326-202647-001": false, "20262026-326-202648-001": false,
		"20262026-366-202653-001": false, "20242024-366-202501-001": true,
	} {
		if _, err := twice.Parse(text); (err == nil) != ok {
			t.Errorf("Parse(%q) = %v, want a number: %v", text, err, ok)
		}
	}
	// The calendar year of a day need not be the year of its week.
	mixed, err := numbers(t, "{2006}-{week}-{n 3 week}", sunday)
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{"2027-202653-001": true, "2026-202653-001": true, "2028-202653-001": false} {
		if p, err := mixed.Parse(text); (err == nil) != ok || ok && p.Tag != "order@202653" {
			t.Errorf("Parse(%q) = %+v, %v, want a number: %v", text, p, err, ok)
		}
	}
}
