package sqldb_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/sqldb"
)

var errBoom = errors.New("boom")

// TestDo: a change counts only when its COMMIT was answered. What is not committed is rolled back,
// on every session that may be without autocommit. A connection goes back to the pool, unless its
// ROLLBACK fails.
func TestDo(t *testing.T) {
	t.Parallel()
	ok := error(nil)
	for _, tt := range []struct {
		name, dialect string
		f             error
		answers       []error // to the statements
		want          error
		sent          string
		next          string // the connection that the next Do gets
	}{
		{"mysql", "mysql", nil, nil, nil, "1 COMMIT, 1 UPDATE T, 1 COMMIT", "1"},
		{"f fails", "mysql", errBoom, nil, errBoom, "1 COMMIT, 1 UPDATE T, 1 ROLLBACK", "1"},
		{"COMMIT fails", "mysql", nil, []error{ok, ok, errBoom}, errBoom,
			"1 COMMIT, 1 UPDATE T, 1 COMMIT, 1 ROLLBACK", "1"},
		{"ROLLBACK fails", "mysql", errBoom, []error{ok, ok, errors.New("other")}, errBoom,
			"1 COMMIT, 1 UPDATE T, 1 ROLLBACK", "2"},
		{"COMMIT and ROLLBACK fail", "mysql", nil, []error{ok, ok, errBoom, errors.New("other")}, errBoom,
			"1 COMMIT, 1 UPDATE T, 1 COMMIT, 1 ROLLBACK", "2"},
		{"postgres", "postgres", nil, nil, nil, "1 BEGIN; COMMIT, 1 UPDATE T", "1"},
		{"postgres, f fails", "postgres", errBoom, nil, errBoom, "1 BEGIN; COMMIT, 1 UPDATE T", "1"},
		{"sqlite", "sqlite", nil, nil, nil, "1 BEGIN; COMMIT, 1 UPDATE T", "1"},
		{"sqlite, f fails", "sqlite", errBoom, nil, errBoom, "1 BEGIN; COMMIT, 1 UPDATE T", "1"},
	} {
		s := &script{answer: failing(tt.answers...)}
		d, pool := s.open(t, tt.dialect, nil)
		err := d.Do(t.Context(), func(c *sqldb.Conn) error {
			if _, err := c.Exec(t.Context(), "UPDATE T"); err != nil {
				return err
			}
			return tt.f
		})
		if got := s.log(); !errors.Is(err, tt.want) || got != tt.sent {
			t.Errorf("%s: Do = %v after %q, want %v after %q", tt.name, err, got, tt.want, tt.sent)
		}
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%s: %d connections are in use after Do", tt.name, n)
		}
		if err := d.Do(t.Context(), func(*sqldb.Conn) error { return nil }); err != nil {
			t.Errorf("%s: the next Do = %v", tt.name, err)
		}
		if got := s.log(); !strings.HasPrefix(got, tt.next+" ") {
			t.Errorf("%s: the next Do sends %q, want connection %s", tt.name, got, tt.next)
		}
	}
}

// TestCommit: what f commits is committed, whatever happens after. Where statements commit
// themselves nothing is sent.
func TestCommit(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[string]string{
		"mysql":    "1 COMMIT, 1 COMMIT, 1 ROLLBACK",
		"postgres": "1 BEGIN; COMMIT",
		"sqlite":   "1 BEGIN; COMMIT",
	} {
		s := &script{}
		d, _ := s.open(t, dialect, nil)
		err := d.Do(t.Context(), func(c *sqldb.Conn) error {
			if err := c.Commit(t.Context()); err != nil {
				return err
			}
			return errBoom
		})
		if got := s.log(); err != errBoom || got != want {
			t.Errorf("%s: Do = %v after %q, want %v after %q", dialect, err, got, errBoom, want)
		}
	}
	s := &script{answer: failing(nil, errBoom)}
	d, _ := s.open(t, "mysql", nil)
	if err := d.Do(t.Context(), func(c *sqldb.Conn) error { return c.Commit(t.Context()) }); err != errBoom {
		t.Errorf("Do = %v, want the error of f's COMMIT", err)
	}
}

// TestSession: the Dos of a session share a connection. Each commits what it has changed or locked,
// and one that fails is rolled back and leaves the next one a connection of its own beginning.
func TestSession(t *testing.T) {
	t.Parallel()
	type step struct {
		query string
		rows  int64
		fails bool
	}
	read, locked := step{query: "SELECT 1"}, step{query: "SELECT 1 FOR UPDATE"}
	change, lost, broken := step{"UPDATE T", 1, false}, step{"UPDATE T", 0, false}, step{"UPDATE T", 1, true}
	for _, tt := range []struct {
		dialect string
		steps   []step
		want    string
	}{
		{"mysql", nil, ""},
		{"mysql", []step{read, read}, "1 COMMIT, 1 SELECT 1, 1 SELECT 1, 1 ROLLBACK"},
		{"mysql", []step{read, lost, change},
			"1 COMMIT, 1 SELECT 1, 1 UPDATE T, 1 UPDATE T, 1 COMMIT"},
		{"mysql", []step{locked, read}, "1 COMMIT, 1 SELECT 1 FOR UPDATE, 1 COMMIT, 1 SELECT 1, 1 ROLLBACK"},
		{"mysql", []step{change, lost}, "1 COMMIT, 1 UPDATE T, 1 COMMIT, 1 UPDATE T, 1 ROLLBACK"},
		{"mysql", []step{broken, change},
			"1 COMMIT, 1 UPDATE T, 1 ROLLBACK, 1 COMMIT, 1 UPDATE T, 1 COMMIT"},
		{"postgres", []step{read, change, broken, locked},
			"1 BEGIN; COMMIT, 1 SELECT 1, 1 UPDATE T, 1 UPDATE T, 1 BEGIN; COMMIT, 1 SELECT 1 FOR UPDATE"},
	} {
		s := &script{}
		d, pool := s.open(t, tt.dialect, nil)
		ctx, end := d.Session(t.Context())
		for _, step := range tt.steps {
			s.answer = func(string) (reply, bool) { return reply{changed: step.rows}, true }
			err := d.Do(ctx, func(c *sqldb.Conn) error {
				if strings.HasPrefix(step.query, "SELECT") {
					return c.Each(ctx, func(*sql.Rows) error { return nil }, step.query)
				}
				if n, err := c.Changed(ctx, step.query); n != step.rows || err != nil {
					t.Errorf("Changed = %d, %v, want %d", n, err, step.rows)
				}
				if step.fails {
					return errBoom
				}
				return nil
			})
			if step.fails != (err != nil) {
				t.Errorf("Do = %v", err)
			}
		}
		end()
		if got := s.log(); got != tt.want {
			t.Errorf("%s: sent %q, want %q", tt.dialect, got, tt.want)
		}
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%s: %d connections are in use after the session", tt.dialect, n)
		}
	}
}

// TestBegin: a Do whose connection cannot end its transaction tries as many more as were idle. It
// does not run f before one can, and leaves none in use.
func TestBegin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		idle   int
		errors int // how many statements fail
		want   error
		sent   string
	}{
		{"new", 0, 1, errBoom, "1 COMMIT, 1 ROLLBACK"},
		{"rolled back", 1, 1, nil, "1 COMMIT, 1 ROLLBACK, 1 COMMIT, 1 UPDATE T, 1 COMMIT"},
		{"closed", 1, 2, nil, "1 COMMIT, 1 ROLLBACK, 2 COMMIT, 2 UPDATE T, 2 COMMIT"},
		{"both closed", 2, 4, nil,
			"1 COMMIT, 1 ROLLBACK, 2 COMMIT, 2 ROLLBACK, 3 COMMIT, 3 UPDATE T, 3 COMMIT"},
		{"the new one as well", 2, 12, errBoom,
			"1 COMMIT, 1 ROLLBACK, 2 COMMIT, 2 ROLLBACK, 3 COMMIT, 3 ROLLBACK"},
	} {
		s := &script{answer: failing(slices.Repeat([]error{errBoom}, tt.errors)...)}
		d, pool := s.open(t, "mysql", nil)
		idle(t, pool, tt.idle)
		err := d.Do(t.Context(), func(c *sqldb.Conn) error {
			_, err := c.Exec(t.Context(), "UPDATE T")
			return err
		})
		if got := s.log(); !errors.Is(err, tt.want) || got != tt.sent {
			t.Errorf("%s: Do = %v after %q, want %v after %q", tt.name, err, got, tt.want, tt.sent)
		}
		if n := pool.Stats().InUse; n != 0 {
			t.Errorf("%s: %d connections are in use after Do", tt.name, n)
		}
	}
}

// TestBeginEnds: without a connection, and when its ctx ends, Do fails at once.
func TestBeginEnds(t *testing.T) {
	t.Parallel()
	run := func(context.Context) error { t.Error("Do calls f"); return nil }
	d, _ := (&script{refuse: errBoom}).open(t, "mysql", nil)
	if err := d.Do(t.Context(), func(*sqldb.Conn) error { return run(t.Context()) }); !errors.Is(err, errBoom) {
		t.Errorf("Do = %v without a connection, want the error of connecting", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{answer: func(query string) (reply, bool) {
		cancel()
		return reply{err: errBoom}, query == "COMMIT"
	}}
	d, pool := s.open(t, "mysql", nil)
	idle(t, pool, 2)
	err := d.Do(ctx, func(*sqldb.Conn) error { return run(ctx) })
	if got := s.log(); !errors.Is(err, context.Canceled) || got != "1 COMMIT, 1 ROLLBACK" {
		t.Errorf("a cancelled Do = %v after %q, want one COMMIT and its ROLLBACK", err, got)
	}
}

// TestDiscard: a session that f discards is not used again. Where a COMMIT would have to follow, Do
// does not succeed.
func TestDiscard(t *testing.T) {
	t.Parallel()
	for dialect, want := range map[string]error{"mysql": sql.ErrConnDone, "postgres": nil, "sqlite": nil} {
		s := &script{}
		d, _ := s.open(t, dialect, nil)
		do := func(f func(*sqldb.Conn)) (first string, err error) {
			err = d.Do(t.Context(), func(c *sqldb.Conn) error { f(c); return nil })
			first, _, _ = strings.Cut(s.log(), " ")
			return first, err
		}
		if conn, err := do(func(*sqldb.Conn) {}); conn != "1" || err != nil || d.Idle() != 1 {
			t.Errorf("%s: Do on connection %s = %v, %d idle after it; want 1, nil, 1", dialect, conn, err, d.Idle())
		}
		if conn, err := do((*sqldb.Conn).Discard); conn != "1" || !errors.Is(err, want) || d.Idle() != 0 {
			t.Errorf("%s: Do on connection %s = %v, %d idle after Discard; want 1, %v, 0",
				dialect, conn, err, d.Idle(), want)
		}
		if conn, err := do(func(*sqldb.Conn) {}); conn != "2" || err != nil {
			t.Errorf("%s: Do on connection %s = %v after a Discard, want 2, nil", dialect, conn, err)
		}
	}
}
