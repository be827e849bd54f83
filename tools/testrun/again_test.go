package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgain: a test that fails among others but passes by itself is named and does not fail the run. A
// test that fails again fails the run, and so does one that is skipped then, or not built, and one
// whose output a slow machine does not explain.
func TestAgain(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module m\n\ngo 1.26\n",
		"m_test.go": `package m

import (
	"os"
	"testing"
)

func TestFirst(t *testing.T) {
	if f, err := os.OpenFile("ran", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		t.Run("late", func(t *testing.T) { t.Error("too " + os.Getenv("WHY")) })
	} else if os.Getenv("SKIP") != "" {
		t.Skip("not alone")
	}
}

func TestAlways(t *testing.T) {
	if os.Getenv("ALWAYS") != "" {
		t.Error("slow")
	}
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
	for _, tt := range []struct {
		again, why, always, skip string
		flaky, failed            bool
	}{
		{again: "1", why: "late", flaky: true},
		{again: "", why: "late", failed: true},
		{again: "1", why: "many ids were repeated", failed: true},
		{again: "1", why: "late", always: "1", failed: true},
		{again: "1", why: "late", skip: "1", failed: true},
	} {
		if err := os.Remove("ran"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		t.Setenv(againEnv, tt.again)
		t.Setenv("WHY", tt.why)
		t.Setenv("ALWAYS", tt.always)
		t.Setenv("SKIP", tt.skip)
		var out bytes.Buffer
		err := run(t.Context(), []string{"-race=false", "."}, &out, io.Discard)
		text := out.String()
		if (err != nil) != tt.failed || strings.Contains(text, "flaky: m.TestFirst") != tt.flaky ||
			tt.flaky && !strings.Contains(text, "\n2 passed, 0 failed, 0 skipped\n") {
			t.Errorf("%+v: %v\n%s", tt, err, text)
		}
	}
}
