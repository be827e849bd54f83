package main

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

const tokenFile = `# the shop's and others
all-of-it
sh0p   tag=order tag=shop-*
w0rker workers snowflake

`

// writeTokens writes a file of tokens.
func writeTokens(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTokenGroups: a token of the file is for the tags and kinds that its line names, or for
// everything, which the pages are.
func TestTokenGroups(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, tag := range []string{"order", "shop-a", "user"} {
		b.check(t, exitOK, "", "", "segment", "set", tag, "--step", "10")
	}
	file := filepath.Join(t.TempDir(), "tokens")
	writeTokens(t, file, tokenFile)
	b.env["UID_TOKEN"] = "s3cret"
	s := b.serve(t, "--token-file", file)
	for _, tt := range []struct {
		path                              string
		all, shop, worker, unknown, fixed int
	}{
		{"/api/segment/get/order", 200, 200, 403, 401, 200},
		{"/api/segment/get/order?count=2", 200, 200, 403, 401, 200},
		{"/api/segment/get/shop-a", 200, 200, 403, 401, 200},
		{"/api/segment/get/user", 200, 403, 403, 401, 200},
		{"/api/segment/get/order2", 404, 403, 403, 401, 404},
		{"/api/segment/get/shop-a%2F..%2Fuser", 404, 404, 403, 401, 404},
		{"/api/segment/range/user", 405, 403, 403, 401, 405},
		{"/api/segment/range/order", 405, 405, 403, 401, 405},
		{"/api/snowflake/get/any", 200, 403, 200, 401, 200},
		{"/api/worker/assign", 405, 403, 405, 401, 405},
		{"/decodeSnowflakeId?snowflakeId=1", 200, 200, 200, 401, 200},
		{"/openapi.json", 200, 200, 200, 401, 200},
		{"/metrics", 200, 403, 403, 401, 200},
		{"/debug/uid", 200, 403, 403, 401, 200},
		{"/", 200, 403, 403, 401, 200},
		{"/health", 200, 200, 200, 200, 200},
	} {
		for token, want := range map[string]int{
			"all-of-it": tt.all, "sh0p": tt.shop, "w0rker": tt.worker, "wr0ng": tt.unknown, "s3cret": tt.fixed,
			"#": tt.unknown,
		} {
			if got := authorized(t, s, tt.path, "Bearer "+token); got != want {
				t.Errorf("%s with %s is %d, want %d", tt.path, token, got, want)
			}
		}
	}
	if got := authorized(t, s, "/metrics", ""); got != http.StatusUnauthorized {
		t.Errorf("/metrics without a token is %d, want 401", got)
	}
	if got := s.stderr(); strings.Contains(got, "s3cret") || strings.Contains(got, "sh0p") {
		t.Errorf("stderr shows a token: %s", got)
	}
}

// TestTokenFileFaults: a file with a fault ends the server at once, with the line and without the token.
func TestTokenFileFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "tokens")
	b.check(t, exitFailure, "", "--token-file: open", "serve", "--token-file", file)
	for text, want := range map[string]string{
		"": "it has no token", "\n# none\n": "it has no token", "s3cret\n\ns3cret workers": "line 3 occurs twice",
		"a\ns3crét": "line 2 has a space or a character", "s3cret order": "line 1 is for is not tag=NAME",
		"s3cret tag=": "line 1 is for is not tag=NAME",
	} {
		writeTokens(t, file, text)
		if r := b.check(t, exitUsage, "", want, "serve", "--token-file", file); strings.Contains(r.stderr, "s3c") {
			t.Errorf("stderr shows a token: %s", r.stderr)
		}
	}
}

// TestTokenReload: on SIGHUP the server reads the file again and goes on. A file with a fault changes
// nothing.
func TestTokenReload(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "tokens")
	writeTokens(t, file, "first")
	s := b.serve(t, "--only", "snowflake", "--token-file", file)
	hangup := func(line string) {
		t.Helper()
		before := strings.Count(s.stderr(), line)
		s.hangup()
		for begin := time.Now(); strings.Count(s.stderr(), line) == before; time.Sleep(time.Millisecond) {
			if time.Since(begin) > time.Minute {
				t.Fatalf("stderr is %s, want %q", s.stderr(), line)
			}
		}
	}
	check := func(token string, want int) {
		t.Helper()
		if got := authorized(t, s, "/api/snowflake/get/a", "Bearer "+token); got != want {
			t.Errorf("%s is %d, want %d", token, got, want)
		}
	}
	check("first", 200)
	writeTokens(t, file, "second\nthird tag=order")
	hangup(`msg="uid: tokens read again" tokens=2`)
	check("first", 401)
	check("second", 200)
	check("third", 403)
	writeTokens(t, file, "fourth\nfourth")
	hangup(`msg="uid: not read again`)
	check("second", 200)
	check("fourth", 401)
	if code := s.stop(); code != exitOK {
		t.Errorf("status %d, want 0", code)
	}
}

// TestTokenMinute: the file is read again each minute, and wrong tokens are counted in a line a minute.
func TestTokenMinute(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "tokens")
	synctest.Test(t, func(t *testing.T) {
		writeTokens(t, file, "first")
		tokens, err := newTokens(file, "")
		if err != nil {
			t.Fatal(err)
		}
		h := newKept(t, tokens)
		for range 3 {
			h.ask("wr0ng", 401)
		}
		h.ask("", 401)
		h.ask("first", 200)
		writeTokens(t, file, "second")
		time.Sleep(reloadEvery - time.Second)
		h.logged("")
		h.ask("first", 200)
		time.Sleep(time.Second)
		synctest.Wait()
		h.logged(`requests=3 last_from=192.0.2.1:1234`)
		h.ask("second", 200)
		time.Sleep(reloadEvery)
		synctest.Wait()
		h.logged("")
	})
}

// TestProcessHangup: SIGHUP does not end a server that serves.
func TestProcessHangup(t *testing.T) {
	t.Parallel()
	cmd, _ := command(t, "serve", "--only", "snowflake", "--addr", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deaf := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer deaf.Stop()
	text := make([]byte, 0, 4096)
	for !strings.Contains(string(text), "serving on http") {
		n, err := stderr.Read(text[len(text):cap(text)])
		if text = text[:len(text)+n]; err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for _, sig := range []syscall.Signal{syscall.SIGHUP, syscall.SIGHUP, syscall.SIGTERM} {
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // signals of one kind that wait are one
	}
	if code := status(t, cmd.Wait()); code != exitOK {
		t.Errorf("status %d after SIGHUP twice and SIGTERM, want 0", code)
	}
}

// kept is the guard of tokens that are kept, and its log.
type kept struct {
	t   *testing.T
	h   http.Handler
	log *sharedLog
}

// sharedLog is a log that one goroutine writes and another one reads.
type sharedLog struct {
	mu   sync.Mutex
	text bytes.Buffer // guarded by mu
}

func (l *sharedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// take returns what was written since the last take.
func (l *sharedLog) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.text.Reset()
	return l.text.String()
}

func newKept(t *testing.T, of *tokens) *kept {
	t.Helper()
	log := &sharedLog{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		of.keep(ctx, nil, slog.New(slog.NewTextHandler(log, nil)), func() error { return nil })
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return &kept{t, of.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})), log}
}

// ask sends a request with a token, "" for none.
func (k *kept) ask(token string, want int) {
	k.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	if k.h.ServeHTTP(w, r); w.Code != want {
		k.t.Errorf("%q is %d, want %d", token, w.Code, want)
	}
}

// logged checks the line about wrong tokens, "" for none, and empties the log.
func (k *kept) logged(want string) {
	k.t.Helper()
	if got := k.log.take(); strings.Contains(got, "wrong tokens") != (want != "") || !strings.Contains(got, want) {
		k.t.Errorf("the log is %q, want %q", got, want)
	}
}
