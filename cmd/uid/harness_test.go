package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// bench runs the program in process, with a folder of its own for the embedded database and a clock
// that stands still.
type bench struct {
	env   map[string]string
	cache string // the cache folder; empty: none, as with HOME unset
	stdin string
	now   time.Time

	hangups *hangups // of run
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return &bench{env: map[string]string{}, cache: filepath.Join(t.TempDir(), "cache"),
		now: time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC), hangups: &hangups{}}
}

// result is the outcome of a run.
type result struct {
	code           int
	stdout, stderr string
}

// run executes one command line.
func (b *bench) run(ctx context.Context, args ...string) result {
	var stdout bytes.Buffer
	var stderr served // a logger writes there, too
	p := &program{
		stdin: strings.NewReader(b.stdin), stdout: &stdout, stderr: &stderr,
		getenv: func(key string) string { return b.env[key] }, lookupenv: b.lookupenv,
		hangups: b.hangups,
		cacheDir: func() (string, error) {
			if b.cache == "" {
				return "", errors.New("neither $XDG_CACHE_HOME nor $HOME are defined")
			}
			return b.cache, nil
		},
		now: b.clock,
	}
	code := p.run(ctx, args)
	return result{code, stdout.String(), stderr.stderr()}
}

// check runs one command line and compares the exit status and parts of what was printed.
func (b *bench) check(t *testing.T, code int, stdout, stderr string, args ...string) result {
	t.Helper()
	r := b.run(t.Context(), args...)
	if r.code != code || !strings.Contains(r.stdout, stdout) || !strings.Contains(r.stderr, stderr) {
		t.Errorf("uid %q = %d\nstdout: %s\nstderr: %s\nwant %d, stdout with %q, stderr with %q",
			args, r.code, r.stdout, r.stderr, code, stdout, stderr)
	}
	if code == exitOK && stderr == "" && r.stderr != "" {
		t.Errorf("uid %q: stderr %q, want none", args, r.stderr)
	}
	// The doctor prints its findings on stdout. Every other failure has its reason on stderr.
	if code != exitOK && (stderr != "" || r.stdout == "") && !strings.HasPrefix(r.stderr, "uid: ") {
		t.Errorf("uid %q: stderr %q, want it to begin with \"uid: \"", args, r.stderr)
	}
	return r
}

// lines returns the lines of stdout.
func (r result) lines() []string {
	return strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
}

func (b *bench) lookupenv(key string) (string, bool) {
	value, ok := b.env[key]
	return value, ok
}

func (b *bench) clock() time.Time { return b.now }

// silentServer accepts connections and never answers. It returns its address.
func silentServer(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				break
			}
			held = append(held, c)
		}
		for _, c := range held {
			c.Close()
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
	})
	return l.Addr().String()
}
