package service_test

import (
	"context"
	"errors"
	"fmt"
	"html"
	"image"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/service"
	"github.com/uidring/uidring/uid"
)

// pageHandler returns a handler whose page shows every state.
func pageHandler(t *testing.T) http.Handler {
	t.Helper()
	long := strings.Repeat("long-", 12)
	full := fmt.Errorf("row refund: %w", segment.ErrExhausted)
	g := newSegments(t, map[string]*tagRow{
		"order":         {next: 1_204_000_001, step: 60_000},
		"user":          {next: 900_001, step: 2000, until: 904_001, err: errAway},
		"refund":        {next: 1, step: 100, until: 201, err: full},
		"<b>quoted</b>": {next: 7, step: 10},
		long:            {next: 4_611_686_018_427_000_000, step: 1_000_000},
	})
	for tag, n := range map[string]int{
		"order": 41_350, "user": 2650, "refund": 200, "<b>quoted</b>": 3, long: 123_456,
	} {
		if _, err := g.Fill(t.Context(), tag, make([]int64, n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Next(t.Context(), "refund"); !errors.Is(err, segment.ErrExhausted) {
		t.Fatalf("Next = %v, want ErrExhausted", err)
	}
	settle(t, g)
	layout := bitsalloc.Layout{}
	a, err := bitsalloc.New(layout)
	if err != nil {
		t.Fatal(err)
	}
	return newHandler(t, &service.HandlerOptions{Segment: g, Snowflake: &snowflake{stats: uid.Stats{
		Worker: 4711, Layout: a.Layout(), Expires: a.Expires(), Lead: 1500 * time.Millisecond,
	}}})
}

// settle waits until no fetch is under way, except those that have failed and are repeated.
func settle(t *testing.T, g *segment.Generator) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if !slices.ContainsFunc(g.Stats().Tags, func(s segment.TagStats) bool {
			return s.Loading && s.Err == nil
		}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a fetch is still under way after 10 s")
		}
	}
}

// TestPage: the page shows the figures, escapes what comes from the table, and loads nothing.
func TestPage(t *testing.T) {
	t.Parallel()
	w := get(pageHandler(t), "/")
	body := strings.ReplaceAll(w.Body.String(), "\u202f", " ")
	for _, want := range []string{
		"<title>degraded", "5 tags in use, 1 down, 1 degraded.", ">1 204 041 351<", ">1 204 120 000<",
		"41 350 of 60 000 of the range", `value="78650" max="120000"`,
		"connection refused", "row refund", "&lt;b&gt;quoted&lt;/b&gt;", "4 611 686 018 427 123 456",
		"4711", "28-22-13-0/1s@", "2034-07-04 21:24:16",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<b>quoted", "<script", "http://", "https://", "url(", "ZgotmplZ"} {
		if strings.Contains(body, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if csp := w.Header().Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("Content-Security-Policy is %q", csp)
	}
}

// TestPageOrder: tags with problems come first, however many tags there are, and pages are short.
func TestPageOrder(t *testing.T) {
	t.Parallel()
	const tags = 500
	rows := map[string]*tagRow{}
	for i := range tags {
		rows[fmt.Sprintf("tag-%03d", i)] = &tagRow{next: 4_611_686_018_427_000_000, step: 10}
	}
	for _, name := range []string{"tag-300", "tag-499"} {
		rows[name].err = fmt.Errorf("row %s: %w", name, segment.ErrExhausted)
		rows[name].until = 0
	}
	g := newSegments(t, rows)
	for name := range rows {
		if _, err := g.Next(t.Context(), name); (err != nil) != (rows[name].err != nil) {
			t.Fatalf("Next of %s = %v", name, err)
		}
	}
	h := newHandler(t, &service.HandlerOptions{Segment: g})
	for path, want := range map[string]struct {
		rows        int
		first, page string
	}{
		"/": {50, "tag-300", "Page 1 of 10"}, "/?page=10": {50, "tag-449", "Page 10 of 10"},
		"/?page=99": {50, "tag-449", "Page 10 of 10"}, "/?page=x": {50, "tag-300", "Page 1 of 10"},
		"/?q=TAG-49": {10, "tag-499", "10 found"}, "/?q=0&page=2": {50, "tag-049", "Page 2 of 4"},
		"/?q=nothing": {0, "", "0 found"}, "/?q=": {50, "tag-300", "<form><input"},
	} {
		body := get(h, path).Body.String()
		var got []string
		for _, part := range strings.Split(body, "<tbody><tr>\n<th")[1:] {
			_, name, _ := strings.Cut(part, ">")
			name, _, _ = strings.Cut(name, "\n")
			got = append(got, name)
		}
		if len(got) != want.rows || want.rows > 0 && got[0] != want.first || !strings.Contains(body, want.page) {
			t.Errorf("%s shows %d tags, first %q, want %d, first %q, and %q",
				path, len(got), got[:min(1, len(got))], want.rows, want.first, want.page)
		}
		if len(body) > 50_000 {
			t.Errorf("%s has %d bytes, want at most 50 kB", path, len(body))
		}
		// A reload would lose the text that a user types.
		if refresh := strings.Contains(body, `http-equiv="refresh"`); refresh != (path != "/?q=") {
			t.Errorf("%s reloads itself: %v", path, refresh)
		}
	}
}

// listed is a source with a list of its tags.
type listed struct{ source }

func (l *listed) List(context.Context) ([]segment.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var rows []segment.Row
	for _, name := range slices.Sorted(maps.Keys(l.tags)) {
		rows = append(rows, segment.Row{Tag: name, Next: l.tags[name].next, Step: l.tags[name].step})
	}
	return rows, nil
}

// TestPagePace: the page shows how many ids a second each tag hands out, how long the rest lasts, the
// tags that nobody has asked for, and calls that had to wait.
func TestPagePace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &listed{source{tags: map[string]*tagRow{
			"order":  {next: 1, step: 12_000},
			"unused": {next: 7_777_777, step: 3},
			"idle":   {next: 1, step: 10},
		}}}
		g, err := segment.New(t.Context(), src, &segment.Options{MaxStep: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		h := newHandler(t, &service.HandlerOptions{Segment: g})
		fill := func(tag string, n int) {
			t.Helper()
			if _, err := g.Fill(t.Context(), tag, make([]int64, n)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		show := func(want ...string) {
			t.Helper()
			body := strings.ReplaceAll(get(h, "/").Body.String(), "\u202f", " ")
			for _, part := range want {
				if !strings.Contains(body, part) {
					t.Errorf("the page lacks %q: %s", part, body[strings.Index(body, "<header>"):])
				}
			}
		}
		show("No tag has been asked for yet.", "up for a moment")
		time.Sleep(100 * time.Second)
		fill("order", 1000)
		fill("idle", 1)
		show(`"A second">10<`, `"Lasts">38 min<`, "Paces are those of the last 100 s.", "up for 100 s",
			">7 777 777<", "not asked for", "and 1 that nobody")
		time.Sleep(40 * time.Second)
		fill("order", 12_000)
		show(`"A second">300<`, `"Lasts">36 s<`, `"A second">0<td class="n" data-l="Lasts"><`, "last 40 s")
		if body := get(h, "/").Body.String(); strings.Contains(body, "had to wait") {
			t.Error("the page says that calls had to wait, but none had")
		}
		src.mu.Lock()
		src.tags["order"].err = errAway
		src.mu.Unlock()
		g2 := make(chan error)
		fill("order", 11_000) // the rest
		go func() {
			_, err := g.Next(t.Context(), "order")
			g2 <- err
		}()
		synctest.Wait()
		show("1 call waiting for ids;", "1 call had to wait lately", "connection refused")
		src.mu.Lock()
		src.tags["order"].err = nil
		src.mu.Unlock()
		if err := <-g2; err != nil {
			t.Error(err)
		}
	})
}

// TestPageTexts: the page quotes tags that would be misread, explains strides, and formats errors with
// ErrorText.
func TestPageTexts(t *testing.T) {
	t.Parallel()
	g := newSegments(t, map[string]*tagRow{
		" ": {step: 1}, "a  b": {step: 1}, "a\nb": {step: 1}, "a\u200bb": {step: 1},
		"订单 1": {step: 1},
		"even": {next: 2, step: 100, stride: 2},
		"full": {err: fmt.Errorf("hunter2: %w", segment.ErrExhausted)},
	})
	for _, tag := range []string{" ", "a  b", "a\nb", "a\u200bb", "订单 1", "even"} {
		if _, err := g.Next(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Next(t.Context(), "full"); err == nil {
		t.Fatal("an exhausted tag has ids")
	}
	settle(t, g)
	sf := &snowflake{stats: uid.Stats{Err: errors.New("lost: hunter2")}}
	h := newHandler(t, &service.HandlerOptions{Segment: g, Snowflake: sf, ErrorText: func(err error) string {
		return strings.ReplaceAll(err.Error(), "hunter2", "*****")
	}})
	body := html.UnescapeString(get(h, "/").Body.String())
	for _, want := range []string{
		`>" "`, `>"a  b"`, `>"a\nb"`, `>"a\u200bb"`, ">订单 1\n", "in steps of 2", ">4<", ">200<",
		"*****: segment: counter exhausted", "lost: *****",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "hunter2") || strings.Contains(body, "The list of tags was read") {
		t.Error("the page shows a secret, or a list that was never read")
	}
}

// TestPageSays: the page says which server and database it is of, links to the others, sorts by how long
// ids last, and tells how to make the first tag.
func TestPageSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		src := &listed{source{tags: map[string]*tagRow{}}}
		for i, name := range []string{"slow", "fast", "idle", "gone"} {
			src.tags[name] = &tagRow{next: 1, step: []int64{10_000_000, 1000, 1000, 10}[i]}
		}
		src.tags["gone"].err, src.tags["gone"].until = fmt.Errorf("row gone: %w", segment.ErrExhausted), 0
		g, err := segment.New(t.Context(), src, &segment.Options{MaxStep: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		h := newHandler(t, &service.HandlerOptions{Segment: g, Place: "mysql at db/<ids>",
			Links: []string{"/debug/uid"}})
		for tag, n := range map[string]int{"slow": 1, "fast": 30, "gone": 1} {
			if _, err := g.Fill(t.Context(), tag, make([]int64, n)); (err != nil) != (tag == "gone") {
				t.Fatal(err)
			}
		}
		time.Sleep(100 * time.Second)
		for path, want := range map[string][]string{
			"/":                {"gone", "fast", "slow", "idle"},
			"/?sort=lasts":     {"gone", "fast", "slow", "idle"},
			"/?sort=lasts&q=l": {"slow", "idle"},
			"/?sort=x":         {"gone", "fast", "slow", "idle"},
		} {
			body := get(h, path).Body.String()
			at := -1
			for _, name := range want {
				i := strings.Index(body, "<th title=\""+name+"\">")
				if i <= at {
					t.Errorf("%s shows %s at %d, want it after %d", path, name, i, at)
				}
				at = i
			}
		}
		body := get(h, "/?sort=lasts&q=o").Body.String()
		for _, want := range []string{
			"mysql at db/&lt;ids&gt;", `<a href="/debug/uid">`, `<a href="/health">`, `name="q" value="o"`,
			`type="hidden" name="sort" value="lasts"`, "Lasts ↑",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the page lacks %q", want)
			}
		}
		if body := get(h, "/").Body.String(); !strings.Contains(body, `<a href="?sort=lasts">Lasts</a>`) ||
			!strings.Contains(body, " years<") {
			t.Error("the page has no link that sorts, or shows days for years")
		}
		none, err := segment.New(t.Context(), &listed{}, &segment.Options{Listed: true})
		if err != nil {
			t.Fatal(err)
		}
		defer none.Close()
		empty := newHandler(t, &service.HandlerOptions{Segment: none})
		if body := get(empty, "/").Body.String(); !strings.Contains(body, "uid segment set order --step 1000") {
			t.Error("the page of no tags does not tell how to make one")
		}
	})
}

// TestPagesInBrowser renders what readers meet: no tags, three, five hundred, on a phone, in the dark, and
// in an outage. UIDRING_SCREENSHOT keeps the pictures, for people to look at.
func TestPagesInBrowser(t *testing.T) {
	t.Parallel()
	phone, desk := image.Point{X: 390, Y: 1400}, image.Point{X: 1280, Y: 1000}
	for name, c := range map[string]struct {
		tags   int
		size   image.Point
		dark   bool
		err    error
		colour rgb
		least  int
	}{
		"no tags":  {0, desk, false, nil, rgb{0xf5, 0xf7, 0xf8}, 500_000},
		"three":    {3, desk, false, nil, bar, 200},
		"many":     {500, desk, false, nil, bar, 2_000},
		"narrow":   {3, phone, false, nil, bar, 1_000},
		"dark":     {3, desk, true, nil, rgb{0x6a, 0xa5, 0xea}, 200},
		"outage":   {3, desk, false, errAway, rgb{0x9a, 0x62, 0x00}, 200},
		"longName": {1, phone, false, errAway, rgb{0x9a, 0x62, 0x00}, 40},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src := &listed{source{tags: map[string]*tagRow{}}}
			for i := range c.tags {
				tag := fmt.Sprintf("shop-%03d.%s", i, []string{"order", "user",
					strings.Repeat("a-name-that-is-longer-than-a-line-", 3)}[i%3])
				src.tags[tag] = &tagRow{next: int64(i)*1000 + 1, step: 1000, until: int64(i)*1000 + 2001, err: c.err}
			}
			g, err := segment.New(t.Context(), src, &segment.Options{MaxStep: 1, Listed: true})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			i := 0
			for tag := range src.tags {
				i++
				n := 100 + i%900
				if c.err != nil {
					n = 1300 // into the second range, so that the third is being fetched
				}
				if _, err := g.Fill(t.Context(), tag, make([]int64, n)); err != nil {
					t.Fatal(err)
				}
			}
			settle(t, g)
			server := httptest.NewServer(newHandler(t, &service.HandlerOptions{Segment: g,
				Place: "mysql at db1:3306/ids: tags of leaf_alloc", Links: []string{"/debug/uid", "/metrics"}}))
			defer server.Close()
			pixels := pixels(t, server.URL+"/", c.size, c.dark)
			if got := pixels[c.colour]; got < c.least {
				t.Errorf("%d pixels have the colour %v, want %d or more", got, c.colour, c.least)
			}
		})
	}
}

// shown serves pageHandler and returns the address of its page.
func shown(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(pageHandler(t))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// TestPageInBrowser renders the page in a real browser, light and dark, and looks for the colours of
// the bars and of the three states.
func TestPageInBrowser(t *testing.T) {
	t.Parallel()
	url := shown(t)
	for name, colours := range map[string]map[string]rgb{
		"light": {
			"ground": {0xf5, 0xf7, 0xf8}, "paper": {0xff, 0xff, 0xff}, "ink": {0x1d, 0x23, 0x29},
			"bar": bar, "track": track,
			"up": {0x1b, 0x7f, 0x4b}, "degraded": {0x9a, 0x62, 0x00}, "down": {0xb3, 0x26, 0x1e},
		},
		"dark": {
			"ground": {0x17, 0x1b, 0x20}, "paper": {0x1f, 0x25, 0x2b}, "ink": {0xe8, 0xec, 0xef},
			"bar": {0x6a, 0xa5, 0xea}, "track": {0x30, 0x39, 0x44},
			"up": {0x58, 0xc4, 0x8d}, "degraded": {0xe0, 0xac, 0x4b}, "down": {0xf2, 0x8b, 0x82},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pixels := pixels(t, url, image.Point{X: 1280, Y: 900}, name == "dark")
			for what, rgb := range colours {
				least := map[string]int{"ground": 100_000, "paper": 100_000, "bar": 200, "track": 200, "ink": 500}[what]
				if got := pixels[rgb]; got < max(least, 40) {
					t.Errorf("%d pixels have the colour of %s, want %d or more", got, what, max(least, 40))
				}
			}
		})
	}
}

// TestPageOnPhone: on a phone nothing is cut off. Each bar of the four tags with ids is as wide as a
// column of its card.
func TestPageOnPhone(t *testing.T) {
	t.Parallel()
	pixels := pixels(t, shown(t), image.Point{X: 390, Y: 2600}, false)
	// 4 pixels high and 150 wide, less the corners.
	if got := pixels[bar] + pixels[track]; got < 4*4*140 {
		t.Errorf("the bars have %d pixels, want %d or more", got, 4*4*140)
	}
}

var (
	bar   = rgb{0x2f, 0x6f, 0xbd}
	track = rgb{0xe4, 0xeb, 0xf2}
)

// TestPageFits: at 1280 pixels a tag with ids of 19 digits is one line, a name of 60 characters two, and
// nothing is cut off.
func TestPageFits(t *testing.T) {
	t.Parallel()
	h := pageHandler(t)
	const measure = `<script>const w = document.querySelector(".wide");
document.title = "wide " + (w.scrollWidth - w.clientWidth) + " high " + Math.max(...[...document.querySelectorAll("tbody tr:first-child")].map(r => r.offsetHeight))</script>`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := get(h, r.URL.String())
		fmt.Fprint(w, answer.Body, measure)
	}))
	defer server.Close()
	dom := dom(t, server.URL+"/", image.Point{X: 1280, Y: 900})
	_, title, _ := strings.Cut(dom, "<title>")
	var wide, high int
	if _, err := fmt.Sscanf(title, "wide %d high %d", &wide, &high); err != nil {
		t.Fatalf("%v: %.300s", err, dom)
	}
	if wide > 0 || high < 20 || high > 70 {
		t.Errorf("the table is %d pixels too wide, and its highest row has %d, want 0, and 20..70: one line and a "+
			"bar, or two lines for a long name", wide, high)
	}
}
