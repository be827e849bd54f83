package number

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/uid/opaque"
)

// TestOneReading: random formats, keys, days and counts. No two numbers of a format have one text, and
// each text reads as what it was made of. The fields are drawn at random, so most formats are refused;
// what is accepted has to be right.
func TestOneReading(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(28, 64))
	accepted, texts := 0, 0
	for range 6000 {
		format := randomFormat(r)
		o := &Options{Zone: time.UTC}
		if strings.Contains(format, "hidden") {
			o.Keys = []opaque.Key{{Version: 1 + r.IntN(3), Secret: []byte("sixteen bytes ok")}}
		}
		n, err := newNumber("order", format, o)
		if err != nil {
			continue
		}
		accepted++
		made := map[string]string{} // what each text was made of
		for range 40 {
			at := time.Date(2026, 12, 20+r.IntN(20), r.IntN(24), r.IntN(60), r.IntN(60), 0, time.UTC)
			keys := make([]string, len(n.f.keys))
			for i, k := range n.f.keys {
				for range k.min + r.IntN(min(k.max, k.min+2)-k.min+1) {
					keys[i] += k.chars.chars[r.IntN(min(3, len(k.chars.chars))):][:1]
				}
			}
			p, err := n.newPage(at)
			if err != nil {
				t.Fatal(err)
			}
			count := 1 + r.Int64N(min(n.f.capacity, 12))
			e := &entry{}
			tag := n.tag(p.period, keys)
			if n.hide != nil {
				e.hidden = n.hide.of(n.f, n.hide.current, tag)
			}
			text := string(n.append(nil, p, e, keys, count))
			what := fmt.Sprint(tag, " ", count)
			if before, ok := made[text]; ok && before != what {
				t.Fatalf("%s: %q is both %s and %s", format, text, before, what)
			}
			made[text] = what
			got, err := n.Parse(text)
			if err != nil || got.Count != count || got.Tag != tag || !slices.Equal(got.Keys, keys) ||
				n.f.period.number(got.Start) != p.period && n.f.period != never {
				t.Fatalf("%s: %q of %s reads as %+v, %v", format, text, what, got, err)
			}
			texts++
		}
	}
	t.Logf("%d formats, %d numbers", accepted, texts)
	if accepted < 300 {
		t.Errorf("%d formats were accepted, want 300 or more for a meaningful test", accepted)
	}
}

// randomFormat returns a format that may make no sense. Its keys often lie next to each other and to
// digits, where readings could differ.
func randomFormat(r *rand.Rand) string {
	one := func(words ...string) string { return words[r.IntN(len(words))] }
	periods := one("day", "week", "month", "quarter", "year", "never")
	var b strings.Builder
	counted := false
	for i := range 2 + r.IntN(5) {
		switch r.IntN(6) {
		case 0:
			b.WriteString(one("-", "/", "A", "0", "1A", "X-"))
		case 1, 2:
			b.WriteString(one("{20060102}", "{2006}", "{0601}", "{02}", "{week}", "{quarter}", "{2006002}", "{15}",
				"{2006-01-02}", "{060102150405}", "{01}", "{0102}", "{002}"))
		case 3, 4:
			fmt.Fprintf(&b, "{k%d %s %s}", i, one("digits", "upper", "alnum", "[01A]"), one("1", "2", "1-3", "2-3"))
		default:
			if !counted {
				fmt.Fprintf(&b, "{n %s %s %s}", one("digits", "[0A]", "plain", "crockford"), one("3", "2", "5", "7"),
					periods+one("", "", " hidden"))
			}
			counted = true
		}
	}
	if !counted {
		fmt.Fprintf(&b, "{n 4 %s}", periods)
	}
	return b.String() + one("", "", "{check luhn}", "-{check mod37,36}", "{check damm}")
}

// FuzzParse: a text that is accepted is one that its parts write.
func FuzzParse(f *testing.F) {
	var all []*Number
	for _, format := range []string{
		"{shop upper 2}-{20060102}-{n 6 day}-{check mod37,36}", "{a alnum 1-3}-{week}{n plain 3 week}",
		"{version}{2006002}{n 7 day hidden}", "{2006}{2006}{quarter}{n 2 quarter}{check luhn}",
		"{n 6 never}{b upper 1-9}", "{week}{0102}{n 2 week}", "{002}{01}{n 2 never}",
	} {
		o := &Options{}
		if strings.Contains(format, "hidden") {
			o.Keys = []opaque.Key{{Version: 2, Secret: []byte("sixteen bytes ok")}}
		}
		n, err := newNumber("order", format, o)
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, n)
		p, _ := n.newPage(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
		keys := []string{"BJ"}[:len(n.f.keys)]
		e := &entry{}
		if n.hide != nil {
			e.hidden = n.hide.of(n.f, 2, n.tag(p.period, keys))
		}
		f.Add(string(n.append(nil, p, e, keys, 42)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, n := range all {
			got, err := n.Parse(text)
			if err != nil {
				continue
			}
			// Any day of the period may have been in the text: one that it reads as writes it.
			r, _ := n.f.read(text)
			day, _ := r.dates.day(n.opts.Zone)
			p, err := n.newPage(day)
			if err != nil {
				t.Fatal(err)
			}
			e := &entry{}
			if n.hide != nil {
				e.hidden = n.hide.of(n.f, r.version, got.Tag)
			}
			if n.f.version && r.version != n.hide.current {
				continue
			}
			if back := string(n.append(nil, p, e, got.Keys, got.Count)); back != text {
				t.Errorf("%s: %q reads as %+v, which is %q", n.f.source, text, got, back)
			}
		}
	})
}

// TestDocs: the formats of the table "which number for what" are accepted, in both languages.
func TestDocs(t *testing.T) {
	t.Parallel()
	for page, heading := range map[string]string{
		"../docs/segment.md": "Which number for what", "../docs/segment.zh-CN.md": "什么场景用哪种单号",
	} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		_, table, _ := strings.Cut(string(text), "\n### "+heading+"\n")
		table, _, _ = strings.Cut(table, "\n## ")
		formats := regexp.MustCompile("\\| `([^`]*{n [^`]*)`[^|]* \\| [^`]").FindAllStringSubmatch(table, -1)
		if len(formats) < 6 {
			t.Errorf("%s has %d formats, want 6 or more", page, len(formats))
		}
		for _, f := range formats {
			o := &Options{}
			if strings.Contains(f[1], "hidden") {
				o.Keys = []opaque.Key{{Version: 1, Secret: []byte("sixteen bytes ok")}}
			}
			if _, err := newNumber("order", f[1], o); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}
