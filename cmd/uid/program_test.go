package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/uidring/uidring/cmd/uid/internal/dsn"
)

// TestUsage: an invalid command line exits with 2, names the mistake and does nothing.
func TestUsage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, c := range []struct {
		args string
		want string
	}{
		{"bogus", "unexpected argument bogus"},
		{"gen --bogus", "unknown flag --bogus"},
		{"gen extra", "unexpected argument extra"},
		{"gen -n", "--count"},
		{"gen -n x", "--count"},
		{"gen -n 0", "-n is 0, want 1 or more"},
		{"gen -n=-5", "--count"},
		{"gen -n -5", "-n is -5, want 1 or more"},
		{"gen --count -5", "-n is -5, want 1 or more"},
		{"gen -5", "-5 is not a flag; put -- before negative numbers"},
		{"parse 1 -5", "-5 is not a flag; put -- before negative numbers"},
		{"gen --timeout -1s", "--timeout is -1s"},
		{"segment set x --step -1", "--step is -1"},
		{"help bogus", "unexpected argument bogus"},
		{"completion tcsh", "must be one of"},
		{"gen --count=-5", "-n is -5, want 1 or more"},
		{"gen -n 99999999999999999999", "--count"},
		{"gen -n 1.5", "--count"},
		{"gen --format xml", "--format must be one of"},
		{"gen --kind fast", "--kind must be one of"},
		{"gen --timeout 0s", "--timeout is 0s"},
		{"gen --timeout=-1s", "--timeout is -1s"},
		{"gen --timeout soon", "--timeout"},
		{"gen --dsn nonsense", "--dsn"},
		{"gen --layout 99-1-1", "TimeBits is 99"},
		{"gen --layout keyworker-original", "keyworker makes them"},
		{"gen --tick=-1s", "--tick is -1s"},
		{"gen --epoch never", "--epoch"},
		{"gen --zone Mars/Base", "--zone"},
		{"parse --form hex 1", "--form must be one of"},
		{"parse --format xml 1", "--format must be one of"},
		{"parse --format baidu --layout keyworker-original 1", "has no --format baidu"},
		{"parse --zone Mars/Base 1", "--zone"},
		{"parse --layout nosuch 1", "--layout"},
		{"schema --dialect oracle", "--dialect must be one of"},
		{"schema --table nosuch", "WORKER_NODE"},
		{"plan --bits 64", "--bits is 64, want 3..63"},
		{"plan --years=-1", "--years"},
		{"plan --years NaN", "--years"},
		{"plan --layout twitter --workers 5", "one or the other"},
		{"version extra", "unexpected argument extra"},
	} {
		r := b.check(t, exitUsage, "", c.want, strings.Fields(c.args)...)
		if r.stdout != "" {
			t.Errorf("uid %s prints %q on stdout, want nothing", c.args, r.stdout)
		}
		if n := strings.Count(r.stderr, "\n"); n != 2 {
			t.Errorf("uid %s prints %d lines, want 2: %s", c.args, n, r.stderr)
		}
	}
	if _, err := os.Stat(b.cache); err == nil {
		t.Error("a usage error created the embedded database's folder")
	}
}

// TestHelp: every command has help, which shows no value of the environment.
func TestHelp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env["UID_DSN"] = "mysql://me:hunter2@db/ids"
	for _, args := range []string{
		"", "--help", "-h", "gen --help", "parse -h", "plan --help", "schema --help", "version --help",
	} {
		r := b.check(t, exitOK, "Usage: uid", "", strings.Fields(args)...)
		if strings.Contains(r.stdout, "hunter2") {
			t.Errorf("uid %s shows the password", args)
		}
	}
	for _, command := range []string{"", "gen", "segment", "segment next", "help"} {
		want := b.check(t, exitOK, "Usage: uid", "", strings.Fields(command+" --help")...).stdout
		if got := b.check(t, exitOK, "", "", strings.Fields("help "+command)...).stdout; got != want {
			t.Errorf("uid help %s shows\n%s\nwant\n%s", command, got, want)
		}
	}
	for _, args := range []string{"version", "--version", "gen --version"} {
		b.check(t, exitOK, "uid ", "", strings.Fields(args)...)
	}
}

// TestPasswords: a password stays hidden wherever the data source name stands: on the command line,
// in the environment or among the ids.
func TestPasswords(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"mysql://me:hunter2@127.0.0.1:1/ids", "me:hunter2@tcp(127.0.0.1:1)/ids",
		"postgres://me:hunter2@127.0.0.1:1/ids", "redis://me:hunter2@127.0.0.1:1/ids",
		"host=127.0.0.1 port=1 user=me password=hunter2 dbname=ids",
		"mysql://me:hunter2@127.0.0.1:port/ids", "postgres://me:hunter2@127.0.0.1:port/ids",
		"me:hunter2@tcp(127.0.0.1:1)", "me:hunter2@tcp(127.0.0.1:1)/ids?timeout=never",
		"me:hunter2@tcp(127.0.0.1:1)/ids extra", "host=127.0.0.1 port=x passwd = 'hunter2",
	} {
		for _, args := range [][]string{
			{"gen", "--timeout", "5s", "--dsn", dsn}, {"gen", "--dns", dsn}, {"gen", dsn},
			{"gen", "--dsn"}, {dsn}, {"gen", "--format", dsn}, {"gen", "--format=" + dsn},
			{"parse", "--layout", dsn}, {"parse", dsn},
			{"gen"}, {"parse"},
		} {
			b := newBench(t)
			if len(args) == 1 && args[0] == "gen" {
				b.env["UID_DSN"] = dsn
			}
			b.stdin = strings.ReplaceAll(dsn, " ", "") // one word
			r := b.run(t.Context(), args...)
			if r.code == exitOK || strings.Contains(r.stdout+r.stderr, "hunter2") || r.stderr == "" {
				t.Errorf("uid %q = %d, %q, %q, want a failure without the password", args, r.code, r.stdout, r.stderr)
			}
		}
	}
}

// TestText: a message is one line without repetitions. A password is hidden before its white space is
// changed.
func TestText(t *testing.T) {
	t.Parallel()
	p := &program{}
	p.redactor.Learn("me:two  spaces@db/")
	for in, want := range map[string]string{
		"one":                             "one",
		" failed:\n\tno  way\n\tno way\n": "failed: no way",
		"a\n\nb\na\r\nc":                  "a; b; c",
		"a two  spaces b":                 "a ***** b",
	} {
		if got := p.text(errors.New(in)); got != want {
			t.Errorf("the text of %q is %q, want %q", in, got, want)
		}
	}
}

// TestDSNOrigin: the error for an invalid data source name says whether it comes from the flag or the
// environment.
func TestDSNOrigin(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.env["UID_DSN"] = "nonsense"
	const want = ": not the name of a database; want mysql://user:password@host"
	b.check(t, exitUsage, "", "uid: UID_DSN"+want, "gen")
	b.check(t, exitUsage, "", "uid: --dsn"+want, "gen", "--dsn", "junk")
}

// TestPasswordElsewhere: a known password is hidden even where no pattern would find it, here as the
// name of the database.
func TestPasswordElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{
		"mysql://me:hunter%342@127.0.0.1:1/hunter42", "me:hunter42@tcp(127.0.0.1:1)/hunter42",
		"host=127.0.0.1 port=1 password=hunter42 dbname=hunter42",
	} {
		r := b.check(t, exitFailure, "", dsn.Hidden, "gen", "--dsn", name)
		if strings.Contains(r.stderr, "hunter42") {
			t.Errorf("%s shows the password: %s", name, r.stderr)
		}
		r = b.check(t, exitFailure, dsn.Hidden, "", "doctor", "--dsn", name)
		if strings.Contains(r.stdout, "hunter42") {
			t.Errorf("doctor of %s shows the password: %s", name, r.stdout)
		}
	}
	b.env["UID_DSN"] = "mysql://me:hunter42@127.0.0.1:1/ids"
	b.check(t, exitUsage, "", "unexpected argument "+dsn.Hidden+"\n", "gen", "hunter42")
}

// TestNoPlace: without a writable cache folder, the error has the reason and names an alternative.
func TestNoPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	taken := t.TempDir()
	if err := os.MkdirAll(filepath.Join(taken, "uidring", "uid.db"), 0o700); err != nil {
		t.Fatal(err)
	}
	broken := t.TempDir()
	if err := os.MkdirAll(filepath.Join(broken, "uidring"), 0o700); err != nil {
		t.Fatal(err)
	}
	junk := []byte(strings.Repeat("not a database ", 100))
	if err := os.WriteFile(filepath.Join(broken, "uidring", "uid.db"), junk, 0o600); err != nil {
		t.Fatal(err)
	}
	for cache, want := range map[string]string{
		"":                         "--dsn sqlite:",
		"relative":                 "not an absolute path",
		filepath.Join(file, "sub"): "--dsn sqlite:",
		taken:                      "is a directory",
		broken:                     "not a database",
	} {
		b.cache = cache
		b.check(t, exitFailure, "", want, "gen")
	}
}

// writeFunc is a writer made of a function.
type writeFunc func([]byte) (int, error)

func (f writeFunc) Write(b []byte) (int, error) { return f(b) }

// TestOutputErrors: a reader that went away is not a failure, a full disk is one.
func TestOutputErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err    error
		code   int
		stderr string
	}{
		{syscall.EPIPE, exitOK, ""},
		{syscall.ENOSPC, exitFailure, "uid: writing the output: no space left on device\n"},
	} {
		for _, args := range [][]string{{"schema"}, {"gen", "--worker", "1", "-n", "100000"}, {"--help"}} {
			var stderr strings.Builder
			p := &program{stdin: strings.NewReader(""), stderr: &stderr, getenv: func(string) string { return "" },
				now: newBench(t).clock, stdout: writeFunc(func([]byte) (int, error) { return 0, c.err })}
			if code := p.run(t.Context(), args); code != c.code || stderr.String() != c.stderr {
				t.Errorf("uid %q into %v = %d, %q, want %d, %q", args, c.err, code, stderr.String(), c.code, c.stderr)
			}
		}
	}
}

// TestSignalStatus: a run that a signal ends has its exit status, no message, and whole lines as output.
func TestSignalStatus(t *testing.T) {
	t.Parallel()
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		ctx, cancel := context.WithCancelCause(t.Context())
		var out, stderr strings.Builder
		p := &program{stdin: strings.NewReader(""), stderr: &stderr, now: newBench(t).clock,
			getenv: func(string) string { return "" }}
		p.stdout = writeFunc(func(b []byte) (int, error) {
			cancel(signalError{sig})
			return out.Write(b)
		})
		code := p.run(ctx, []string{"gen", "--worker", "1", "-n", "1000000000000"})
		if code != want || stderr.Len() > 0 {
			t.Errorf("after %v: status %d, stderr %q, want %d and nothing", sig, code, stderr.String(), want)
		}
		if s := out.String(); !strings.HasSuffix(s, "\n") {
			t.Errorf("after %v the output ends in %q, want a whole line", sig, s[max(0, len(s)-30):])
		}
	}
}

// TestParseStdinSignal: a signal ends a parse that waits for input.
func TestParseStdinSignal(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalError{syscall.SIGINT})
	p := &program{stdin: r, stdout: io.Discard, stderr: io.Discard, now: newBench(t).clock,
		getenv: func(string) string { return "" }}
	if code := p.run(ctx, []string{"parse"}); code != 130 {
		t.Errorf("status %d, want 130", code)
	}
}
