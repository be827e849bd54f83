//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package assigner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// onFile returns an Assigner of worker 7 on a file, in a process of its own, whose clock is off.
func onFile(path string, off time.Duration) Assigner {
	a := newLocal("env", func(int64) (int64, error) { return 7, nil }, &LocalOptions{File: path})
	a.open = &holders{}
	a.now = func() time.Time { return time.Now().Add(off) }
	return a
}

// claimFile makes a claim of worker 7 on a file.
func claimFile(t *testing.T, path string, off time.Duration) *fileClaim {
	t.Helper()
	c, err := onFile(path, off).Assign(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.(*fileClaim).lock.Close() })
	return c.(*fileClaim)
}

// saved returns the end that the file has.
func saved(t *testing.T, path string) time.Time {
	t.Helper()
	r, err := readReservation(path)
	if err != nil {
		t.Fatal(err)
	}
	return r.Until
}

// TestFileBegins: a claim begins where the file says that the last one ended, whatever the clock
// says, and ahead of the clock where there is no file.
func TestFileBegins(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "window")
	begin := time.Now()
	c := claimFile(t, path, 0)
	from, until := c.Window()
	if ahead := from.Sub(begin); ahead < defaultFileLead || ahead > defaultFileLead+time.Minute ||
		until.Sub(from) != defaultFileLead {
		t.Errorf("without a file the window is [%v, %v), want %v from %v ahead of %v", from, until,
			defaultFileLead, defaultFileLead, begin)
	}
	const h = time.Hour
	for _, off := range []time.Duration{0, -24 * h, time.Minute, 365 * 24 * h, -h, 0} {
		last := until
		if end, err := c.Extend(t.Context(), last.Add(time.Minute)); err != nil ||
			!end.Equal(last.Add(time.Minute)) {
			t.Fatalf("Extend = %v, %v, want a minute more than %v", end, err, last)
		}
		last = last.Add(time.Minute)
		if got := saved(t, path); !got.Equal(last) {
			t.Fatalf("the file has %v, want %v", got, last)
		}
		Kill(c)
		c = claimFile(t, path, off)
		from, until = c.Window()
		reach := time.Now().Add(off)
		if from.After(reach) {
			reach = from
		}
		if !from.Equal(last) || until.Sub(reach).Abs()-defaultFileLead > time.Minute ||
			!saved(t, path).Equal(until) {
			t.Errorf("clock off by %v: window [%v, %v), want it from %v on, %v ahead",
				off, from, until, last, defaultFileLead)
		}
	}
}

// TestFileRelease: what is given back is the next claim's.
func TestFileRelease(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "window")
	c := claimFile(t, path, 0)
	from, until := c.Window()
	for _, tt := range []struct {
		name string
		used time.Time
		want time.Time
	}{
		{"nothing", time.Time{}, from},
		{"before the window", from.Add(-time.Hour), from},
		{"a part", from.Add(time.Second), from.Add(time.Second)},
		{"more than all", until.Add(time.Hour), time.Time{}},
	} {
		if tt.want.IsZero() {
			_, tt.want = c.Window()
		}
		for range 2 {
			if err := c.Release(t.Context(), tt.used); err != nil {
				t.Errorf("%s: Release: %v", tt.name, err)
			}
		}
		if _, err := c.Extend(t.Context(), until.Add(time.Hour)); err == nil ||
			!strings.Contains(err.Error(), "released") {
			t.Errorf("%s: Extend after Release = %v, want an error that says so", tt.name, err)
		}
		c = claimFile(t, path, 0)
		if got, _ := c.Window(); !got.Equal(tt.want) {
			t.Errorf("%s was used: the next window begins at %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestFileLayouts: layouts that begin after the window may be added to the ones that the file is
// for, and none taken away.
func TestFileLayouts(t *testing.T) {
	t.Parallel()
	const a, b, c = "27@2026-01-01T00:00:00Z", "28@2999-01-01T00:00:00Z", "29@2999-02-01T00:00:00Z"
	path := filepath.Join(t.TempDir(), "window")
	claim := func(layout string) error {
		c, err := onFile(path, 0).(LayoutBinder).BindLayout(layout).Assign(t.Context(), 7)
		if err == nil {
			err = c.Release(t.Context(), time.Time{})
		}
		return err
	}
	for _, tt := range []struct {
		layout string
		want   error
	}{
		{a, nil}, {b, ErrLayoutMismatch}, {a + "0", ErrLayoutMismatch},
		{a + ",28@2026-01-01T00:00:00Z", ErrLayoutMismatch},
		{a + "," + b, nil}, {a + "," + b, nil}, {a, ErrLayoutMismatch}, {a + "," + b + "," + c, nil},
	} {
		if err := claim(tt.layout); !errors.Is(err, tt.want) {
			t.Errorf("a claim for %q: %v, want %v", tt.layout, err, tt.want)
		}
	}
}

// TestFileLocked: a file has one owner at a time.
func TestFileLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "window")
	c := claimFile(t, path, 0)
	for range 2 {
		_, err := onFile(path, 0).Assign(t.Context(), 7)
		if !errors.Is(err, ErrWorkersExhausted) ||
			!strings.Contains(err.Error(), path+" is locked by another process with worker id 7") {
			t.Errorf("a second claim: %v, want ErrWorkersExhausted and the file", err)
		}
	}
	if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Errorf("Extend after others tried: %v", err)
	}
}

// TestFileRefused: what is not this claim's file is an error, and is left as it is.
func TestFileRefused(t *testing.T) {
	t.Parallel()
	good := reservation{Worker: 7, Until: time.Now().UTC()}
	text := func(r reservation) string {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tt := range []struct {
		name, text string
		want       string
		sentinel   error
	}{
		{"empty", "", "does not hold a reservation", errDamaged},
		{"cut", text(good)[:40], "does not hold a reservation", errDamaged},
		{"another program's", "{}", "does not hold a reservation", errDamaged},
		{"no JSON", "key = value", "does not hold a reservation", errDamaged},
		{"another worker's", text(reservation{Worker: 8, Until: good.Until}),
			"is for worker id 8, want 7", nil},
		{"another layout's", text(reservation{Worker: 7, Until: good.Until, Layout: "x"}),
			`is for the layout "x", want ""`, ErrLayoutMismatch},
	} {
		path := filepath.Join(t.TempDir(), "window")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time shows that the first one has unlocked
			_, err := onFile(path, 0).Assign(t.Context(), 7)
			if err == nil || !strings.Contains(err.Error(), tt.want) ||
				tt.sentinel != nil && !errors.Is(err, tt.sentinel) {
				t.Errorf("%s: Assign = %v, want an error with %q", tt.name, err, tt.want)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != tt.text {
			t.Errorf("%s: the file became %q, %v", tt.name, got, err)
		}
	}
	path := filepath.Join(t.TempDir(), "none", "window")
	if _, err := onFile(path, 0).Assign(t.Context(), 7); !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "env: option File: lstat") {
		t.Errorf("without its folder: %v, want an error that says so", err)
	}
}

// TestFileWriteFails: a reservation that does not get to the disk is not granted, and what a crash
// leaves half written is not read.
func TestFileWriteFails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "window")
	c := claimFile(t, path, 0)
	_, until := c.Window()
	if err := os.Mkdir(path+".tmp", 0o700); err != nil {
		t.Fatal(err)
	}
	more := until.Add(time.Minute)
	if _, err := c.Extend(t.Context(), more); err == nil || errors.Is(err, ErrClaimLost) {
		t.Errorf("Extend without room to write = %v, want an error that passes", err)
	}
	if _, end := c.Window(); !end.Equal(until) || !saved(t, path).Equal(until) {
		t.Errorf("an Extend that failed moved the end to %v, the file to %v, want %v", end,
			saved(t, path), until)
	}
	// The new file may have got its name, and the error come after that.
	if err := os.Remove(path + ".tmp"); err != nil {
		t.Fatal(err)
	}
	if err := (reservation{Worker: 7, Until: more}).write(path); err != nil {
		t.Fatal(err)
	}
	if end, err := c.Extend(t.Context(), more.Add(1)); err != nil || !end.Equal(more.Add(1)) {
		t.Errorf("Extend after one whose outcome is unknown = %v, %v, want %v", end, err,
			more.Add(1))
	}
	if err := os.WriteFile(path+".tmp", []byte(`{"worker":7,"unt`), 0o600); err != nil {
		t.Fatal(err)
	}
	Kill(c)
	if from, _ := claimFile(t, path, 0).Window(); !from.Equal(more.Add(1)) {
		t.Errorf("after a crash while the file was written the window begins at %v, want %v", from,
			more.Add(1))
	}
}

// TestFileTaken: an owner whose file another process has written, because the lock was removed or a
// backup was restored, finds its claim lost and changes nothing.
func TestFileTaken(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(t *testing.T, path string){
		"lock removed": func(t *testing.T, path string) {
			if err := os.Remove(path + ".lock"); err != nil {
				t.Fatal(err)
			}
			claimFile(t, path, 0)
		},
		"restored": func(t *testing.T, path string) {
			if err := (reservation{Worker: 7, Until: time.Unix(1e9, 0)}).write(path); err != nil {
				t.Fatal(err)
			}
		},
		"removed": func(t *testing.T, path string) {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		path := filepath.Join(t.TempDir(), "window")
		c := claimFile(t, path, 0)
		_, until := c.Window()
		harm(t, path)
		before, _ := os.ReadFile(path)
		if _, err := c.Extend(t.Context(), until.Add(time.Hour)); !errors.Is(err, ErrClaimLost) {
			t.Errorf("%s: Extend = %v, want ErrClaimLost", name, err)
		}
		if err := c.Release(t.Context(), until.Add(-1)); !errors.Is(err, ErrClaimLost) {
			t.Errorf("%s: Release = %v, want ErrClaimLost", name, err)
		}
		if after, _ := os.ReadFile(path); string(after) != string(before) {
			t.Errorf("%s: the file became %q, want %q as before", name, after, before)
		}
	}
}
