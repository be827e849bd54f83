package sqldb_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/sqldb"
)

// TestAnswers: a server that answers with another id than it stored is refused by name. One correct
// answer ends the comparison. The answer to a statement that changed no row is not used.
func TestAnswers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		rows, answer int64
		stored       string
		refused      bool
	}{
		{"right", 1, 7, "7", false},
		{"of an earlier statement", 1, 5, "7", true},
		{"hidden", 1, 0, "7", false},
		{"no row", 0, 5, "7", false},
	} {
		l := &liar{rows: tt.rows, answer: tt.answer, stored: tt.stored}
		pool := sql.OpenDB(l)
		defer pool.Close()
		d, err := sqldb.Open("tester", pool, "mysql", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		for try := range 2 {
			var rows, value int64
			err = d.Do(t.Context(), func(c *sqldb.Conn) (err error) {
				rows, value, err = c.Advance(t.Context(), "UPDATE t SET a = LAST_INSERT_ID(a + 1)", "SELECT a FROM t")
				return err
			})
			if (err != nil) != tt.refused || tt.refused &&
				(!errors.Is(err, sqldb.ErrUnfit) || !strings.Contains(err.Error(), "TiDB")) {
				t.Errorf("%s: Advance = %v, want an error with the name: %v", tt.name, err, tt.refused)
			}
			if want := tt.answer * tt.rows; !tt.refused && (rows != tt.rows || value != want) {
				t.Errorf("%s: Advance = %d rows, %d, want %d, %d", tt.name, rows, value, tt.rows, want)
			}
			// A successful comparison is not repeated.
			if begun := try+1 == l.begun; tt.name == "right" && l.begun != 1 || tt.name != "right" && !begun {
				t.Errorf("%s: %d transactions after %d calls", tt.name, l.begun, try+1)
			}
		}
		l.rows, l.stored = 1, "7"
		var id int64
		err = d.Do(t.Context(), func(c *sqldb.Conn) (err error) {
			id, err = c.Insert(t.Context(), "ID", "INSERT INTO t VALUES ()")
			return err
		})
		if lied := tt.answer == 5; lied != errors.Is(err, sqldb.ErrUnfit) || !lied && id != tt.answer {
			t.Errorf("%s: Insert = %d, %v, want an error: %v", tt.name, id, err, lied)
		}
		l.rows = 0
		if err := d.Do(t.Context(), func(c *sqldb.Conn) error {
			_, err := c.Insert(t.Context(), "ID", "INSERT INTO t VALUES ()")
			return err
		}); err == nil || !strings.Contains(err.Error(), "changed 0 rows") {
			t.Errorf("%s: Insert of no row = %v, want an error that says so", tt.name, err)
		}
	}
}

// liar is a server whose answers to a change and to a query the test sets.
type liar struct {
	greeter
	rows, answer int64
	stored       string
	begun        int
}

func (l *liar) Connect(context.Context) (driver.Conn, error) { return l, nil }
func (l *liar) RowsAffected() (int64, error)                 { return l.rows, nil }
func (l *liar) LastInsertId() (int64, error)                 { return l.answer, nil }

func (l *liar) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	if query == "START TRANSACTION" {
		l.begun++
	}
	return l, nil
}

func (l *liar) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	if strings.Contains(query, "VERSION()") {
		return &greeting{values: []string{"8.0.11-TiDB-v7.5.0", "TiDB Server"}}, nil
	}
	return &greeting{values: []string{l.stored}}, nil
}
