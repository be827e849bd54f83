package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/uidring/uidring/uid"
)

// vector returns the id of (tick, worker, seq) in the default layout.
func vector(t *testing.T, tick, worker, seq int64) uid.ID {
	t.Helper()
	id, err := mustLayout(t, "").alloc.Compose(tick, worker, seq)
	if err != nil {
		t.Fatal(err)
	}
	return uid.ID(id)
}

// TestParseForms: parse knows every text form of an id.
func TestParseForms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, id := range []uid.ID{
		vector(t, 10_000_000, 7, 42), vector(t, 1<<28-1, 1<<22-1, 1<<13-1), vector(t, 20_000_000, 0, 0), 0, 1,
	} {
		for form, text := range map[idForm]string{
			decimalForm: id.String(), base32Form: uid.Base32.Text(id), base62Form: uid.Base62.Text(id),
		} {
			r := b.check(t, exitOK, `"id":"`+id.String()+`"`, "", "parse", "-f", "json", text)
			var j idJSON
			if err := json.Unmarshal([]byte(r.stdout), &j); err != nil || j.Form != form {
				t.Errorf("parse %s reads it as %q (%v), want %q", text, j.Form, err, form)
			}
		}
		b.check(t, exitOK, id.String(), "", "parse", strings.ToLower(uid.Base32.Text(id)))
	}
}

func TestParseTable(t *testing.T) {
	t.Parallel()
	b := newBench(t) // 2026-06-01T12:00:00Z, which is tick 13,089,600
	id := vector(t, 13_089_600-3600, 7, 42).String()
	later := vector(t, 13_089_660, 4_000_000, 8000).String()
	r := b.check(t, exitOK, "", "", "parse", "--zone", "Asia/Shanghai", id, later)
	const want = `ID                   BASE32         BASE62       TIME                       AGE              WORKER   SEQ   FORM
449631536283705386   0CFB9G0001R1A  0XDJfLAin06  2026-06-01T19:00:00+08:00  1h00m ago        7        42    dec
449757325694082880   0CFEVWYGJ07T0  0XDtNvwdXPc  2026-06-01T20:01:00+08:00  in 1m00s         4000000  8000  dec
`
	if r.stdout != want {
		t.Errorf("got\n%swant\n%s", r.stdout, want)
	}
}

// TestParseLayouts: parse reads the ids of other systems.
func TestParseLayouts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct{ args, want string }{
		// Twitter's first millisecond, data centre 31, worker 31: sequences 0 and 1.
		{"--layout twitter 8384512 8384513", `"time":"2010-11-04T01:42:54.658Z"`},
		{"--layout twitter 8384512", `"data_centre":31,"worker":31,"sequence":0`},
		{"--layout leaf 8384513", `"worker":1023,"sequence":1`},
		{"--layout 41-10-12 --tick 1ms --epoch 1288834974657 8384513", `"time":"2010-11-04T01:42:54.658Z"`},
		{"--layout baidu --epoch 2020-01-01 0", `"time":"2020-01-01T00:00:00Z"`},
		{"--layout shardgene 7", `"sequence":1,"gene":3`},
		{"--layout keyworker-original -- -1", `"data_centre":31,"worker":31,"sequence":4095`},
	} {
		args := append([]string{"parse", "-f", "json", "--zone", "UTC"}, strings.Fields(c.args)...)
		b.check(t, exitOK, c.want, "", args...)
	}
	b.check(t, exitOK, `{"UID":"0","timestamp":"2026-01-01 08:00:00","workerId":"0","sequence":"0"}`, "",
		"parse", "-f", "baidu", "--zone", "Asia/Shanghai", "0")
}

// TestParseGrouped: a number may have a separator at every third digit, as in a report.
func TestParseGrouped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const id = "962256464544540702"
	for _, separator := range []string{",", "_", "'", "’"} {
		text := strings.ReplaceAll("962 256 464 544 540 702", " ", separator)
		b.check(t, exitOK, `"id":"`+id+`"`, "", "parse", "-f", "json", text)
		b.check(t, exitOK, `"id":"`+id+`"`, "", "parse", "-f", "json", "--form", "dec", text)
	}
	b.check(t, exitOK, `"id":"1234567890123"`, "", "parse", "-f", "json", "1,234,567,890,123")
	for _, text := range []string{
		"96,2256", "1,23", ",123", "123,", "1,,234", "1,234_567", "1234,567", "1.234", "a,bcd",
	} {
		b.check(t, exitFailure, "", "bad id: ", "parse", text)
	}
	b.check(t, exitFailure, "", "base32", "parse", "--form", "base32", "1,234")
}

// TestParseBad: every bad id has a complaint of its own, the good ones are printed, and the run fails.
func TestParseBad(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bad := []string{
		"junk", "-1", "9223372036854775808", "99999999999999999999999999", "0x10", "1.5", "1e3", "8ZZZZZZZZZZZZ",
		"ZZZZZZZZZZZZU", "zzzzzzzzzzz", "!!!!!!!!!!!", "１２３", strings.Repeat("9", 5000),
	}
	args := []string{"parse", "-f", "json", "--", "1"}
	args = append(append(args, bad...), "2")
	r := b.check(t, exitFailure, `"id":"2"`, "", args...)
	if n := len(r.lines()); n != 2 {
		t.Errorf("%d ids printed, want 2:\n%s", n, r.stdout)
	}
	complaints := strings.Split(strings.TrimSuffix(r.stderr, "\n"), "\n")
	if len(complaints) != len(bad) {
		t.Fatalf("%d complaints, want %d:\n%s", len(complaints), len(bad), r.stderr)
	}
	for i, line := range complaints {
		if !strings.HasPrefix(line, "uid: ") || len(line) > 250 ||
			!strings.Contains(line, bad[i][:min(len(bad[i]), 30)]) {
			t.Errorf("complaint about %.50q: %.300q", bad[i], line)
		}
	}
	b.check(t, exitFailure, "", "0..9007199254740991", "parse", "--layout", "28-12-13", "9007199254740992")
	b.check(t, exitFailure, "", "base32", "parse", "--form", "base32", "123")
}

// TestParseAmbiguous: thirteen digits are read as a decimal number, with a note that they may be Base32.
func TestParseAmbiguous(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.check(t, exitOK, `"id":"1234567890123"`, "note: ", "parse", "-f", "json", "1234567890123")
	b.check(t, exitOK, `"base32":"1234567890123"`, "", "parse", "-f", "json", "--form", "base32", "1234567890123")
	b.check(t, exitOK, `"form":"base32"`, "", "parse", "-f", "json", "0234567890123")
}

// base58 returns id in an alphabet that has no 0, O, I and l.
func base58(id uid.ID, alphabet string) (text string) {
	for ; id > 0; id /= 58 {
		text = alphabet[id%58:id%58+1] + text
	}
	return text
}

// TestParseBase58: a text in Base58 is not mistaken for one in Base62, unless it is asked for.
func TestParseBase58(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const lower, upper = "abcdefghijkmnopqrstuvwxyz", "ABCDEFGHJKLMNPQRSTUVWXYZ"
	for layout, id := range map[string]uid.ID{
		"default": vector(t, 13_089_600, 7, 42), "twitter": 2_061_000_000_000_000_000,
	} {
		for _, letters := range []string{lower + upper, upper + lower} { // of bwmarrin/snowflake, of Bitcoin
			text := base58(id, "123456789"+letters)
			args := []string{"parse", "-f", "json", "--layout", layout, text}
			b.check(t, exitFailure, "", `bad id: "`+text+`" as Base62 is an id of `, args...)
			b.check(t, exitOK, `"form":"base62"`, "", append(args, "--form", "base62")...)
		}
		b.check(t, exitOK, `"id":"`+id.String()+`"`, "", "parse", "-f", "json", "--layout", layout, uid.Base62.Text(id))
	}
}

// TestParseStdin: without arguments, ids come from standard input, separated by white space.
func TestParseStdin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.stdin = "1 2\n\n\t3\r\n4"
	for _, args := range [][]string{{"parse", "-f", "json"}, {"parse", "-f", "json", "-"}} {
		if n := len(b.check(t, exitOK, `"id":"4"`, "", args...).lines()); n != 4 {
			t.Errorf("uid %q printed %d ids, want 4", args, n)
		}
	}
	b.check(t, exitUsage, "", "the id is empty", "parse", " ")
	b.stdin = ""
	if r := b.check(t, exitOK, "", "", "parse"); r.stdout != "" {
		t.Errorf("no ids print %q, want nothing", r.stdout)
	}
	b.stdin = strings.Repeat("9", 100_000)
	b.check(t, exitFailure, "", "reading ids: ", "parse")
}

// FuzzParseID: no text makes parseID panic, and all forms of an id that it returns parse to that id.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{
		"0", "1", "9223372036854775807", "7ZZZZZZZZZZZZ", "aZl8N0y58M7", "1234567890123", "", "-", "0000000000000",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, _, _, err := parseID(s, autoForm, false)
		if err != nil {
			return
		}
		for _, form := range []idForm{decimalForm, base32Form, base62Form} {
			text := string(form.write(nil, id))
			if back, _, _, err := parseID(text, form, false); err != nil || back != id {
				t.Errorf("%q is %d, whose %s %q reads back as %d, %v", s, id, form, text, back, err)
			}
		}
	})
}
