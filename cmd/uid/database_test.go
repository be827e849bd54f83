package main

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestLateReasons: the words of the deadline are printed in words for people, and no others change.
func TestLateReasons(t *testing.T) {
	t.Parallel()
	p := &program{}
	for text, want := range map[string]string{
		"context deadline exceeded": "no answer in time",
		"a: context deadline exceeded; last error: timeout: context deadline exceeded": "a: no answer in time; " +
			"last error: timeout: no answer in time",
		"a: tls: context deadline exceeded\n\tb: dial: context deadline exceeded": "a: tls: no answer in time; " +
			"b: dial: no answer in time",
		"a refused": "a refused",
	} {
		if got := p.text(errors.New(text)); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
	}
}

// state is an error of PostgreSQL's driver.
type state string

func (s state) Error() string    { return "refused" }
func (s state) SQLState() string { return string(s) }

// TestHintOfTables: a table that is missing is known by the server's code, and SQLite's, whose drivers
// differ, by its words. Other errors get no hint.
func TestHintOfTables(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err  error
		hint bool
	}{
		{&mysql.MySQLError{Number: 1146, Message: "gone"}, true},
		{state("42P01"), true},
		{errors.New("no such table: leaf_alloc"), true},
		{&mysql.MySQLError{Number: 1045, Message: "Error 1146 (42S02)"}, false},
		{state("28P01"), false},
		{errors.New("away"), false},
	} {
		got := withHint(fmt.Errorf("reading: %w", tt.err))
		if !errors.Is(got, tt.err) || strings.Contains(got.Error(), "uid segment init") != tt.hint {
			t.Errorf("%v becomes %v, want a hint: %v", tt.err, got, tt.hint)
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
