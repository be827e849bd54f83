package service_test

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rgb is a colour.
type rgb [3]uint8

// pixels shows the page at url in a real browser, in a window of a size, in dark colours or light
// ones, and returns how many pixels have each colour. UIDRING_SCREENSHOT names a folder that keeps
// the picture, under the test's name.
func pixels(t testing.TB, url string, size image.Point, dark bool) map[rgb]int {
	t.Helper()
	shot := filepath.Join(t.TempDir(), "page.png")
	if keep := os.Getenv("UIDRING_SCREENSHOT"); keep != "" {
		shot = filepath.Join(keep, strings.ReplaceAll(t.Name(), "/", "-")+".png")
	}
	browse(t, url, size, dark, "--screenshot="+shot)
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
	n := make(map[rgb]int)
	for y := range size.Y {
		for x := range size.X {
			r, g, b, _ := picture.At(x, y).RGBA()
			n[rgb{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8)}]++
		}
	}
	return n
}

// dom loads the page at url in a window of a size and returns its text as it is after its scripts
// have run.
func dom(t testing.TB, url string, size image.Point) string {
	t.Helper()
	return browse(t, url, size, false, "--dump-dom")
}

// browse starts a browser and returns what it prints. The test is skipped where there is none, unless
// UIDRING_REQUIRE_SERVERS is 1.
func browse(t testing.TB, url string, size image.Point, dark bool, do string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skipped: browser suite: make test-all runs it")
	}
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
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	scheme := 1
	if dark {
		scheme = 0
	}
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--no-first-run", "--user-data-dir="+filepath.Join(t.TempDir(), "profile"),
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), "--hide-scrollbars",
		fmt.Sprintf("--window-size=%d,%d", size.X, size.Y), do, url)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium: %v: %s", err, &stderr)
	}
	return string(out)
}
