package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestLateReasons: the words of the deadline become words for people, and no others change.
func TestLateReasons(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"context deadline exceeded": "no answer in time",
		"a: context deadline exceeded; last error: timeout: context deadline exceeded": "a: no answer in time; " +
			"last error: timeout: no answer in time",
		"a: tls: context deadline exceeded\n\tb: dial: context deadline exceeded": "a: tls: no answer in time\n" +
			"\tb: dial: no answer in time",
		"a refused": "a refused",
	} {
		if got := lateReasons(errors.New(text)).Error(); got != want {
			t.Errorf("lateReasons(%q) = %q, want %q", text, got, want)
		}
	}
}

// TestFrozen: if the database freezes before the worker id is given back, the run still succeeds. The
// ids do not wait for the database, and a note says that nothing need be done.
func TestFrozen(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	b := newBench(t)
	b.env["UID_DSN"] = s.DSN(s.CreateDB(t))
	var stdout, stderr strings.Builder
	p := &program{stdin: strings.NewReader(""), stderr: &stderr, now: b.clock,
		getenv: func(key string) string { return b.env[key] }}
	p.stdout = writeFunc(func(text []byte) (int, error) {
		if stdout.Len() == 0 {
			if err := s.Pause(); err != nil {
				t.Error(err)
			}
		}
		return stdout.Write(text)
	})
	code := p.run(t.Context(), []string{"gen", "-n", "10"})
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	said := stderr.String()
	if code != exitOK || !strings.HasPrefix(said, "uid: note: the worker id was not given back (") ||
		!strings.Contains(said, "nothing need be done") || strings.Contains(said, "deadline") ||
		strings.Count(said, "\n") != 1 {
		t.Errorf("status %d, stderr %q, want 0 and a note", code, said)
	}
	if ids := parseIDs(t, result{stdout: stdout.String()}, decimalForm); len(ids) != 10 {
		t.Errorf("%d ids, want 10", len(ids))
	}
}
