package leafhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/leafhttp"
	"github.com/uidring/uidring/uid"
)

// pageHandler serves a page that shows every state.
func pageHandler(t *testing.T) http.Handler {
	t.Helper()
	g := newSegments(t, map[string]*tagRow{
		"order":                     {next: 1_204_000_001, step: 60_000},
		"user":                      {next: 900_001, step: 2000, until: 904_001, err: errAway},
		"refund":                    {next: 1, step: 100, until: 201, err: fmt.Errorf("row refund: %w", segment.ErrExhausted)},
		"<b>quoted</b>":             {next: 7, step: 10},
		strings.Repeat("long-", 12): {next: 4_611_686_018_427_000_000, step: 1_000_000},
	})
	for tag, n := range map[string]int{"order": 41_350, "user": 2650, "refund": 200, "<b>quoted</b>": 3, strings.Repeat("long-", 12): 123_456} {
		if _, err := g.Fill(t.Context(), tag, make([]int64, n)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Next(t.Context(), "refund"); !errors.Is(err, segment.ErrExhausted) {
		t.Fatalf("Next = %v, want ErrExhausted", err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		failed := false
		for _, s := range g.Stats().Tags {
			failed = failed || s.Tag == "user" && s.Err != nil
		}
		if failed {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the fetch for user has not failed after 10 s")
		}
	}
	layout := bitsalloc.Layout{}
	a, err := bitsalloc.New(layout)
	if err != nil {
		t.Fatal(err)
	}
	return newHandler(t, &leafhttp.Options{Segment: g, Snowflake: &counted{stats: uid.Stats{
		Worker: 4711, Layout: a.Layout(), Expires: a.Expires(), Lead: 1500 * time.Millisecond,
	}}})
}

// TestPage: the page shows the figures, escapes what comes from the table, and loads nothing.
func TestPage(t *testing.T) {
	t.Parallel()
	w := get(pageHandler(t), "/")
	body := strings.ReplaceAll(w.Body.String(), "\u202f", " ")
	for _, want := range []string{
		"<title>degraded", "5 tags, 1 down, 1 degraded.", "1 204 000 001 –</span> <span>1 204 060 000<", "41 350 of 60 000 used", `value="41350" max="60000"`,
		"connection refused", "row refund", "&lt;b&gt;quoted&lt;/b&gt;", "4 611 686 018 427 000 000", "4711", "28-22-13-0/1s@", "2034-07-04 21:24:16 UTC",
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

// TestPageOrder: problems come before the rest, however many tags there are, and the page is bounded.
func TestPageOrder(t *testing.T) {
	t.Parallel()
	const tags = 600
	rows := map[string]*tagRow{}
	for i := range tags {
		rows[fmt.Sprintf("tag-%03d", i)] = &tagRow{step: 10}
	}
	for _, name := range []string{"tag-300", "tag-599"} {
		rows[name].err = fmt.Errorf("row %s: %w", name, segment.ErrExhausted)
	}
	g := newSegments(t, rows)
	for name := range rows {
		if _, err := g.Next(t.Context(), name); (err != nil) != (rows[name].err != nil) {
			t.Fatalf("Next of %s = %v", name, err)
		}
	}
	body := get(newHandler(t, &leafhttp.Options{Segment: g}), "/").Body.String()
	var got []string
	for _, part := range strings.Split(body, "<tbody><tr>\n<th>")[1:] {
		name, _, _ := strings.Cut(part, "\n")
		got = append(got, name)
	}
	if want := []string{"tag-300", "tag-599", "tag-000", "tag-001"}; len(got) != 500 || !slices.Equal(got[:4], want) {
		t.Errorf("the page shows %d tags, first %q, want 500, first %q", len(got), got[:min(4, len(got))], want)
	}
	for _, want := range []string{"600 tags, 2 down.", "The first 500 are shown"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestHealthBounded: the list of problems is bounded.
func TestHealthBounded(t *testing.T) {
	t.Parallel()
	rows := map[string]*tagRow{}
	for i := range 30 {
		rows[fmt.Sprintf("tag-%02d", i)] = &tagRow{err: segment.ErrExhausted}
	}
	g := newSegments(t, rows)
	for name := range rows {
		if _, err := g.Next(t.Context(), name); err == nil {
			t.Fatalf("%s has ids", name)
		}
	}
	var got struct{ Problems []string }
	w := get(newHandler(t, &leafhttp.Options{Segment: g}), "/health")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Problems) != 21 || got.Problems[20] != "and 10 more tags" {
		t.Errorf("health is %d %s, %v, want 20 problems and how many more", w.Code, w.Body, err)
	}
}

// TestPageTexts: tags read as what they are, strides as what they mean, and errors as the owner of the page wants.
func TestPageTexts(t *testing.T) {
	t.Parallel()
	g := newSegments(t, map[string]*tagRow{
		" ": {step: 1}, "a  b": {step: 1}, "a\nb": {step: 1}, "a\u200bb": {step: 1}, "\xff": {step: 1}, "订单 1": {step: 1},
		"even": {next: 2, step: 100, stride: 2}, "full": {err: fmt.Errorf("hunter2: %w", segment.ErrExhausted)},
	})
	for _, tag := range []string{" ", "a  b", "a\nb", "a\u200bb", "\xff", "订单 1", "even"} {
		if _, err := g.Next(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := g.Next(t.Context(), "full"); err == nil {
		t.Fatal("an exhausted tag has ids")
	}
	sf := &counted{stats: uid.Stats{Err: errors.New("lost: hunter2")}}
	h := newHandler(t, &leafhttp.Options{Segment: g, Snowflake: sf, ErrorText: func(err error) string {
		return strings.ReplaceAll(err.Error(), "hunter2", "*****")
	}})
	body := html.UnescapeString(get(h, "/").Body.String())
	for _, want := range []string{
		`<th>" "`, `<th>"a  b"`, `<th>"a\nb"`, `<th>"a\u200bb"`, `<th>"\xff"`, "<th>订单 1\n", "in steps of 2", "<span>2 –</span> <span>100</span>",
		"*****: segment: counter exhausted", "lost: *****",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(body, "hunter2") || strings.Contains(body, "Tags last listed") {
		t.Error("the page shows an error in full, or a list that nobody read")
	}
}

// TestPageInBrowser renders the page in a real browser and looks for what a reader sees: the bars and the three states in
// their colours, in as wide a window as a reader has.
func TestPageInBrowser(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(pageHandler(t))
	defer server.Close()
	pixels := screenshot(t, server.URL+"/", image.Point{X: 1400, Y: 900})
	for name, want := range map[string]struct {
		rgb   [3]uint8
		least int
	}{
		"ground": {[3]uint8{0xf5, 0xf7, 0xf8}, 100_000}, "paper": {[3]uint8{0xff, 0xff, 0xff}, 100_000},
		"bar": {bar, 500}, "track": {track, 500},
		"up": {[3]uint8{0x1b, 0x7f, 0x4b}, 40}, "degraded": {[3]uint8{0x9a, 0x62, 0x00}, 40}, "down": {[3]uint8{0xb3, 0x26, 0x1e}, 40},
		"ink": {[3]uint8{0x1d, 0x23, 0x29}, 500},
	} {
		if got := pixels[want.rgb]; got < want.least {
			t.Errorf("%d pixels have the colour of %s, want %d or more", got, name, want.least)
		}
	}
}

// TestPageOnPhone: on a phone nothing is cut off. The bars of the five tags are as wide as a column of their card each.
func TestPageOnPhone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(pageHandler(t))
	defer server.Close()
	pixels := screenshot(t, server.URL+"/", image.Point{X: 390, Y: 2600})
	// 8 pixels high and 150 wide, less the corners.
	if got := pixels[bar] + pixels[track]; got < 5*8*140 {
		t.Errorf("the bars have %d pixels, want %d or more", got, 5*8*140)
	}
}

var (
	bar   = [3]uint8{0x2f, 0x6f, 0xbd}
	track = [3]uint8{0xe4, 0xeb, 0xf2}
)

// screenshot shows the page at url in a browser's window and counts the pixels of each colour.
func screenshot(t *testing.T, url string, size image.Point) map[[3]uint8]int {
	t.Helper()
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		if os.Getenv("UIDRING_REQUIRE_SERVERS") == "1" {
			t.Fatal("chromium not found in PATH")
		}
		t.Skip("skipped: browser suite: chromium not found in PATH")
	}
	dir := t.TempDir()
	shot := filepath.Join(dir, "page.png")
	if keep := os.Getenv("UIDRING_SCREENSHOT"); keep != "" { // a folder
		shot = filepath.Join(keep, t.Name()+".png")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--no-first-run", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--hide-scrollbars", fmt.Sprintf("--window-size=%d,%d", size.X, size.Y), "--screenshot="+shot, url)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("chromium: %v: %s", err, out)
	}
	f, err := os.Open(shot)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	if got := picture.Bounds().Size(); got != size {
		t.Errorf("the picture is %v, want %v", got, size)
	}
	n := make(map[[3]uint8]int)
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := picture.At(x, y).RGBA()
			n[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}]++
		}
	}
	return n
}
