package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHealth: the command succeeds while the server hands out ids, and needs no token.
func TestHealth(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env["UID_TOKEN"] = "s3cret"
	s := b.serve(t)
	delete(b.env, "UID_TOKEN")
	b.check(t, exitOK, "up\n", "", "health", s.base)
	s.stop()
	b.check(t, exitFailure, "", "connection refused", "health", s.base+"/")
	b.check(t, exitUsage, "", "the address is not one", "health", "x")
	b.check(t, exitUsage, "", "--timeout is 0s", "health", "--timeout", "0s")
	for body, want := range map[string]string{`{"status":"down"}`: "down\n", "<html>": ""} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(body))
		}))
		defer other.Close()
		b.check(t, exitFailure, want, "", "health", other.URL)
	}
}

// TestUnit: systemd reads the unit without a complaint.
func TestUnit(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("skipped: ", err)
	}
	text, err := os.ReadFile("deploy/uid-serve.service")
	if err != nil {
		t.Fatal(err)
	}
	// The command is not installed here.
	unit := strings.Replace(string(text), "/usr/local/bin/uid", "/bin/true", 1)
	path := filepath.Join(t.TempDir(), "uid-serve.service")
	if err := os.WriteFile(path, []byte(unit), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--recursive-errors=no", path).CombinedOutput()
	if err != nil || strings.Contains(string(out), "uid-serve.service") {
		t.Errorf("systemd-analyze: %v\n%s", err, out)
	}
}
