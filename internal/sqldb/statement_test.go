package sqldb_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/sqldb"
)

// TestChanged: the number of rows is that of the server, and a failure is never 0 rows.
func TestChanged(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		reply
		want int64
		err  error
	}{
		{reply{changed: 2}, 2, nil},
		{reply{changed: 0}, 0, nil},
		{reply{err: errBoom}, 0, errBoom},
		{reply{noRows: errBoom}, 0, errBoom},
	} {
		s := &script{answer: func(query string) (reply, bool) { return tt.reply, query == "UPDATE T" }}
		d, _ := s.open(t, "postgres", nil)
		err := d.Do(t.Context(), func(c *sqldb.Conn) error {
			n, err := c.Changed(t.Context(), "UPDATE T")
			if n != tt.want {
				t.Errorf("%+v: Changed = %d, want %d", tt.reply, n, tt.want)
			}
			return err
		})
		if !errors.Is(err, tt.err) {
			t.Errorf("%+v: Changed = %v, want %v", tt.reply, err, tt.err)
		}
	}
}

// TestRowFails: a query that fails does not look like one without a row.
func TestRowFails(t *testing.T) {
	t.Parallel()
	s := &script{answer: failing(nil, errBoom)}
	d, _ := s.open(t, "postgres", nil)
	err := d.Do(t.Context(), func(c *sqldb.Conn) error {
		var n int64
		return c.Row(t.Context(), "SELECT N FROM T", nil, &n)
	})
	if !errors.Is(err, errBoom) || errors.Is(err, sql.ErrNoRows) {
		t.Errorf("Row = %v, want the server's error alone", err)
	}
}

// TestInsert: the key is the one in the answer, which MySQL's session has to confirm once for a
// database. Any failure is an error, which no server is refused for.
func TestInsert(t *testing.T) {
	t.Parallel()
	const insert, look = "INSERT INTO T VALUES (1)", "SELECT LAST_INSERT_ID()"
	const returning = insert + " RETURNING ID"
	for _, tt := range []struct {
		name, dialect string
		answers       map[string]reply
		want          int64
		err           error
		sent          string // by two calls
	}{
		{"mysql", "mysql", map[string]reply{insert: {changed: 1, id: 7}, look: {row: []driver.Value{int64(7)}}},
			7, nil, insert + ", " + look + ", " + insert},
		{"mysql without a key", "mysql", map[string]reply{insert: {changed: 1}}, 0, nil, insert + ", " + insert},
		{"postgres", "postgres", map[string]reply{returning: {row: []driver.Value{int64(7)}}},
			7, nil, returning + ", " + returning},
		{"sqlite", "sqlite", map[string]reply{insert: {changed: 1, id: 7}}, 7, nil, insert + ", " + insert},
		{"the INSERT fails", "mysql", map[string]reply{insert: {err: errBoom}}, 0, errBoom, insert + ", " + insert},
		{"the INSERT fails", "postgres", map[string]reply{returning: {err: errBoom}},
			0, errBoom, returning + ", " + returning},
		{"no rows in the answer", "mysql", map[string]reply{insert: {noRows: errBoom, id: 7}},
			0, errBoom, insert + ", " + insert},
		{"no key in the answer", "mysql", map[string]reply{insert: {changed: 1, noID: errBoom}},
			0, errBoom, insert + ", " + insert},
		{"the session does not answer", "mysql",
			map[string]reply{insert: {changed: 1, id: 7}, look: {err: errBoom}},
			7, errBoom, insert + ", " + look + ", " + insert + ", " + look},
	} {
		s := &script{answer: func(query string) (reply, bool) { r, ok := tt.answers[query]; return r, ok }}
		d, _ := s.open(t, tt.dialect, nil)
		var sent []string
		for range 2 {
			var id int64
			err := d.Do(t.Context(), func(c *sqldb.Conn) (err error) {
				s.log()
				id, err = c.Insert(t.Context(), "ID", insert)
				sent = append(sent, strings.ReplaceAll(s.log(), "1 ", ""))
				return err
			})
			if id != tt.want || !errors.Is(err, tt.err) || errors.Is(err, sqldb.ErrUnfit) {
				t.Errorf("%s: Insert = %d, %v, want %d, %v", tt.name, id, err, tt.want, tt.err)
			}
		}
		if got := strings.Join(sent, ", "); got != tt.sent {
			t.Errorf("%s: Insert sends %q, want %q", tt.name, got, tt.sent)
		}
	}
}

// TestAdvance: the comparison of an answer with the row is one transaction, which ends before
// Advance returns. Any statement that fails fails Advance, and no server is refused for it.
func TestAdvance(t *testing.T) {
	t.Parallel()
	const begin, update, look = "START TRANSACTION", "UPDATE T", "SELECT N"
	const version = "SELECT VERSION(), @@version_comment"
	right := reply{changed: 1, id: 7}
	row := func(values ...driver.Value) reply { return reply{row: values} }
	for _, tt := range []struct {
		name        string
		answers     map[string]reply
		rows, value int64
		err         error
		sent        string
	}{
		{"right", map[string]reply{update: right, look: row(int64(7))}, 1, 7, nil,
			"START TRANSACTION, UPDATE T, SELECT N, COMMIT"},
		{"no row", map[string]reply{update: {changed: 0, id: 5}}, 0, 0, nil,
			"START TRANSACTION, UPDATE T, COMMIT"},
		{"two rows", map[string]reply{update: {changed: 2, id: 5}}, 2, 0, nil,
			"START TRANSACTION, UPDATE T, COMMIT"},
		{"no transaction", map[string]reply{begin: {err: errBoom}, update: right, look: row(int64(7))},
			0, 0, errBoom, "START TRANSACTION"},
		{"no update", map[string]reply{update: {err: errBoom}}, 0, 0, errBoom, "START TRANSACTION, UPDATE T"},
		{"no rows in the answer", map[string]reply{update: {changed: 1, noRows: errBoom, id: 7}}, 1, 0, errBoom,
			"START TRANSACTION, UPDATE T"},
		{"no value in the answer", map[string]reply{update: {changed: 1, noID: errBoom}}, 1, 0, errBoom,
			"START TRANSACTION, UPDATE T"},
		{"the row cannot be read", map[string]reply{update: right, look: {err: errBoom}}, 0, 0, errBoom,
			"START TRANSACTION, UPDATE T, SELECT N"},
		{"wrong, and no product", map[string]reply{update: right, look: row(int64(6)), version: {err: errBoom}},
			0, 0, errBoom, "START TRANSACTION, UPDATE T, SELECT N, " + version},
		{"no COMMIT", map[string]reply{update: right, look: row(int64(7)), "COMMIT": {err: errBoom}},
			1, 7, errBoom, "START TRANSACTION, UPDATE T, SELECT N, COMMIT"},
	} {
		s := &script{}
		d, _ := s.open(t, "mysql", nil)
		err := d.Do(t.Context(), func(c *sqldb.Conn) error {
			s.answer = func(query string) (reply, bool) { r, ok := tt.answers[query]; return r, ok }
			s.log()
			rows, value, err := c.Advance(t.Context(), update, look)
			if rows != tt.rows || value != tt.value {
				t.Errorf("%s: Advance = %d rows, %d, want %d, %d", tt.name, rows, value, tt.rows, tt.value)
			}
			if got := strings.ReplaceAll(s.log(), "1 ", ""); got != tt.sent {
				t.Errorf("%s: Advance sends %q, want %q", tt.name, got, tt.sent)
			}
			return err
		})
		if !errors.Is(err, tt.err) || errors.Is(err, sqldb.ErrUnfit) {
			t.Errorf("%s: Advance = %v, want %v", tt.name, err, tt.err)
		}
	}
}

// TestAdvanceProven: after one comparison Advance is a single statement.
func TestAdvanceProven(t *testing.T) {
	t.Parallel()
	s := &script{answer: func(query string) (reply, bool) {
		return reply{changed: 1, id: 7, row: []driver.Value{int64(7)}}, true
	}}
	d, _ := s.open(t, "mysql", nil)
	ctx := t.Context()
	var sent []string
	for range 2 {
		if err := d.Do(ctx, func(c *sqldb.Conn) error {
			s.log()
			rows, value, err := c.Advance(ctx, "UPDATE T", "SELECT N")
			if rows != 1 || value != 7 {
				t.Errorf("Advance = %d rows, %d, want 1, 7", rows, value)
			}
			sent = append(sent, s.log())
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if sent[1] != "1 UPDATE T" {
		t.Errorf("the second Advance sends %q, want the UPDATE alone", sent[1])
	}
}

// TestCreate: a table that exists counts as created, whatever the statement that creates it answers.
// One that does not exist is the error of that statement.
func TestCreate(t *testing.T) {
	t.Parallel()
	denied := pgError("42501")
	for _, tt := range []struct {
		name   string
		ddl    error
		exists bool
		want   error
		sent   string // the beginnings of the statements
	}{
		{"created", nil, true, nil, "BEGIN; CREATE BEGIN; CREATE"},
		{"there", denied, true, nil, "BEGIN; CREATE BEGIN; SELECT BEGIN; CREATE BEGIN; SELECT"},
		{"neither", denied, false, denied, "BEGIN; CREATE BEGIN; SELECT"},
	} {
		s := &script{answer: func(query string) (reply, bool) {
			switch {
			case strings.Contains(query, "CREATE TABLE") && tt.ddl != nil:
				return reply{err: tt.ddl}, true
			case strings.HasPrefix(query, "SELECT COUNT(*) FROM WORKER_") && tt.exists:
				return reply{row: []driver.Value{int64(0)}}, true
			case strings.HasPrefix(query, "SELECT"):
				return reply{err: pgError("42P01")}, true
			}
			return reply{}, false
		}}
		d, _ := s.open(t, "postgres", nil)
		err := d.Create(t.Context(), "WORKER_NODE", "WORKER_LEASE")
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: Create = %v, want %v", tt.name, err, tt.want)
		}
		if got := s.beginnings(); got != tt.sent {
			t.Errorf("%s: Create sends %q, want %q", tt.name, got, tt.sent)
		}
	}
	s := &script{}
	d, _ := s.open(t, "postgres", nil)
	err := d.Create(t.Context(), "NO_SUCH")
	if got := s.log(); err == nil || !strings.HasPrefix(err.Error(), "tester: ") || got != "" {
		t.Errorf("Create of a table without DDL = %v after %q, want the tester's error and no statement", err, got)
	}
}

// TestIndex: only a missing index is created. That another process was faster, or that the account
// may not create it, is no error.
func TestIndex(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, dialect string
		look, create  reply
		want          error
		sent          string
	}{
		{"missing", "mysql", count(0), reply{}, nil, "COMMIT SELECT CREATE COMMIT"},
		{"there", "mysql", count(1), reply{}, nil, "COMMIT SELECT COMMIT"},
		{"not of mysql", "postgres", count(0), reply{}, nil, ""},
		{"unknown", "mysql", reply{err: mysqlError(1064)}, reply{}, mysqlError(1064), "COMMIT SELECT ROLLBACK"},
		{"created meanwhile", "mysql", count(0), reply{err: mysqlError(1061)}, nil, "COMMIT SELECT CREATE COMMIT"},
		{"denied", "mysql", count(0), reply{err: mysqlError(1142)}, nil, "COMMIT SELECT CREATE COMMIT"},
		{"failed", "mysql", count(0), reply{err: mysqlError(1072)}, mysqlError(1072),
			"COMMIT SELECT CREATE ROLLBACK"},
	} {
		s := &script{answer: func(query string) (reply, bool) {
			switch {
			case strings.HasPrefix(query, "SELECT"):
				return tt.look, true
			case query == "CREATE INDEX I ON T (A, B)":
				return tt.create, true
			}
			return reply{}, false
		}}
		d, _ := s.open(t, tt.dialect, nil)
		if err := d.Index(t.Context(), "T", "I", "A, B"); !errors.Is(err, tt.want) {
			t.Errorf("%s: Index = %v, want %v", tt.name, err, tt.want)
		}
		if got := s.beginnings(); got != tt.sent {
			t.Errorf("%s: Index sends %q, want %q", tt.name, got, tt.sent)
		}
	}
}

// count is the answer to SELECT COUNT(*).
func count(n int64) reply { return reply{row: []driver.Value{n}} }
