package leafhttp_test

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
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
		"<title>down", "1 204 000 001 – 1 204 060 000", "41 350 of 60 000 used", `value="41350" max="60000"`,
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

// TestPageInBrowser renders the page in a real browser and looks for what a reader sees: the bar and the three states in
// their colours, in as wide a window as a reader has.
func TestPageInBrowser(t *testing.T) {
	t.Parallel()
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
	server := httptest.NewServer(pageHandler(t))
	defer server.Close()
	dir := t.TempDir()
	shot := filepath.Join(dir, "page.png")
	if keep := os.Getenv("UIDRING_SCREENSHOT"); keep != "" {
		shot = keep
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--no-first-run", "--user-data-dir="+filepath.Join(dir, "profile"),
		"--hide-scrollbars", "--window-size=1400,900", "--screenshot="+shot, server.URL+"/")
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
	if size := picture.Bounds().Size(); size != (image.Point{X: 1400, Y: 900}) {
		t.Errorf("the picture is %v, want 1400 by 900", size)
	}
	pixels := colours(picture)
	for name, want := range map[string]struct {
		rgb   [3]uint8
		least int
	}{
		"ground": {[3]uint8{0xf5, 0xf7, 0xf8}, 100_000}, "paper": {[3]uint8{0xff, 0xff, 0xff}, 100_000},
		"bar": {[3]uint8{0x2f, 0x6f, 0xbd}, 500}, "track": {[3]uint8{0xe4, 0xeb, 0xf2}, 500},
		"up": {[3]uint8{0x1b, 0x7f, 0x4b}, 40}, "degraded": {[3]uint8{0x9a, 0x62, 0x00}, 40}, "down": {[3]uint8{0xb3, 0x26, 0x1e}, 40},
		"ink": {[3]uint8{0x1d, 0x23, 0x29}, 500},
	} {
		if got := pixels[want.rgb]; got < want.least {
			t.Errorf("%d pixels have the colour of %s, want %d or more", got, name, want.least)
		}
	}
}

// colours counts the pixels of each colour.
func colours(m image.Image) map[[3]uint8]int {
	n := make(map[[3]uint8]int)
	for y := m.Bounds().Min.Y; y < m.Bounds().Max.Y; y++ {
		for x := m.Bounds().Min.X; x < m.Bounds().Max.X; x++ {
			r, g, b, _ := m.At(x, y).RGBA()
			n[[3]uint8{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}]++
		}
	}
	return n
}
