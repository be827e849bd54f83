package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// served is a server in process.
type served struct {
	base   string          // the start of its URLs
	hangup func()          // what SIGHUP does
	stop   func() int      // stops it as SIGTERM does and returns the exit status
	mu     sync.Mutex      // guards wrote
	wrote  strings.Builder // on stderr
}

// Write records what the server writes on stderr.
func (s *served) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote.Write(b)
}

// stderr returns what the server has written so far.
func (s *served) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote.String()
}

// serve starts a server on a free port and waits until it prints its address.
func (b *bench) serve(t *testing.T, args ...string) *served {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	s := &served{}
	set := &bench{env: maps.Clone(b.env)} // the test may change its own meanwhile
	p := &program{
		stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.MultiWriter(s, w), now: b.clock,
		hangups:   &hangups{},
		getenv:    func(key string) string { return set.env[key] },
		lookupenv: set.lookupenv,
		cacheDir:  func() (string, error) { return b.cache, nil },
	}
	s.hangup = func() { p.hangups.pass() }
	code := 0
	ended := make(chan struct{})
	go func() {
		code = p.run(ctx, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...))
		w.Close()
		close(ended)
	}()
	s.stop = func() int {
		cancel(signalError{syscall.SIGTERM})
		<-ended
		return code
	}
	t.Cleanup(func() { s.stop() })
	var first strings.Builder
	buf := make([]byte, 4096)
	address := regexp.MustCompile(`serving on (https?://\S+)\n`)
	for s.base == "" {
		n, err := r.Read(buf)
		first.Write(buf[:n])
		if m := address.FindStringSubmatch(first.String()); m != nil {
			s.base = m[1]
		} else if err != nil {
			t.Fatalf("serve prints %q, want an address", first.String())
		}
	}
	go io.Copy(io.Discard, r) // ends with w
	return s
}

// get returns the answer to a GET. Each call has a connection of its own, so that each is served by
// another goroutine.
func (s *served) get(t *testing.T, path string) (status int, body string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get(s.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// ok returns the body of the answer to a GET, which must have status 200.
func (s *served) ok(t *testing.T, path string) string {
	t.Helper()
	status, body := s.get(t, path)
	if status != http.StatusOK {
		t.Fatalf("%s: %d %s", path, status, body)
	}
	return body
}
