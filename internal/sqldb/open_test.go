package sqldb_test

import (
	"database/sql"
	"log/slog"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/sqldb"
)

// TestOpen: a dialect that is not supported and a pool that is nil are refused.
func TestOpen(t *testing.T) {
	t.Parallel()
	pool := sql.OpenDB(&script{})
	defer pool.Close()
	for _, tt := range []struct {
		pool          *sql.DB
		dialect, want string
	}{
		{pool, "oracle", `dialect is "oracle", want mysql, postgres or sqlite`},
		{nil, "mysql", "the *sql.DB is nil"},
	} {
		_, err := sqldb.Open("tester", tt.pool, tt.dialect, "", nil)
		if err == nil || !strings.HasPrefix(err.Error(), "tester: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open = %v, want an error of the tester's with %q", err, tt.want)
		}
	}
	l := slog.New(slog.DiscardHandler)
	for place, want := range map[string]string{"": "postgres database", "over there": "over there"} {
		d, err := sqldb.Open("tester", pool, "postgres", place, l)
		if err != nil || d.Logger() != l || d.Place() != want {
			t.Errorf("Open = %v, want the logger and the place %q", err, want)
		}
	}
}

// TestQuote: a name is quoted by its parts, and what is quoted already is not quoted twice.
func TestQuote(t *testing.T) {
	t.Parallel()
	pool := sql.OpenDB(&script{})
	defer pool.Close()
	for _, tt := range []struct{ dialect, name, want string }{
		{"mysql", "leaf_alloc", "`leaf_alloc`"},
		{"mysql", "leaf.leaf_alloc", "`leaf`.`leaf_alloc`"},
		{"mysql", "`leaf`.leaf_alloc", "`leaf`.`leaf_alloc`"},
		{"mysql", "a`b", "`a``b`"},
		{"mysql", "`", "````"},
		{"mysql", "`a` ; DROP TABLE `b`", "```a`` ; DROP TABLE ``b```"},
		{"postgres", `leaf."T"`, `"leaf"."T"`},
		{"postgres", `a"b`, `"a""b"`},
		{"sqlite", "ticket", "`ticket`"},
	} {
		d, err := sqldb.Open("tester", pool, tt.dialect, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Quote(tt.name); got != tt.want {
			t.Errorf("%s: Quote(%s) = %s, want %s", tt.dialect, tt.name, got, tt.want)
		}
	}
}
