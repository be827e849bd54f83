package sql_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/sql"
)

// TestDDL: every table has a text in every dialect, and no text does more than to create what is
// missing.
func TestDDL(t *testing.T) {
	t.Parallel()
	for _, want := range []string{"WORKER_LEASE", "WORKER_NODE"} {
		if !slices.Contains(sql.Tables(), want) {
			t.Errorf("Tables() = %v, want %s among them", sql.Tables(), want)
		}
	}
	comment := regexp.MustCompile(`--[^\n]*`)
	harmful := regexp.MustCompile(`(?i)\b(DROP|ALTER|TRUNCATE|DELETE|REPLACE)\b`)
	for _, dialect := range dialects() {
		for _, table := range sql.Tables() {
			ddl, err := sql.DDL(dialect, table)
			if err != nil {
				t.Errorf("DDL(%s, %s): %v", dialect, table, err)
				continue
			}
			statements := strings.TrimSpace(comment.ReplaceAllString(ddl, ""))
			if !strings.HasPrefix(statements, "CREATE TABLE IF NOT EXISTS "+table+" ") {
				t.Errorf("DDL(%s, %s) begins with %.40q, want CREATE TABLE IF NOT EXISTS %s",
					dialect, table, statements, table)
			}
			if !strings.HasSuffix(statements, ";") {
				t.Errorf("DDL(%s, %s) does not end with a semicolon", dialect, table)
			}
			if found := harmful.FindString(statements); found != "" {
				t.Errorf("DDL(%s, %s) contains %s", dialect, table, found)
			}
		}
	}
}

// TestFiles: every file is a table's or a dialect's, so that a misspelt name does not go unused.
func TestFiles(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		parts := strings.Split(e.Name(), ".")
		if parts[len(parts)-1] != "sql" {
			continue
		}
		if len(parts) > 3 || len(parts) == 3 && !slices.Contains(dialects(), parts[1]) {
			t.Errorf("file %s, want <table>.sql or <table>.<dialect>.sql with one of %v", e.Name(), dialects())
		}
	}
}

func TestDDLErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ dialect, table, want string }{
		{"oracle", "WORKER_NODE", `dialect is "oracle", want one of mysql, postgres, sqlite`},
		{"", "WORKER_NODE", `dialect is ""`},
		{"mysql", "worker", `table is "worker", want one of `},
		{"mysql", "../sql/WORKER_NODE", `table is "../sql/WORKER_NODE"`},
	} {
		if _, err := sql.DDL(tt.dialect, tt.table); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("DDL(%q, %q) = %v, want an error with %q", tt.dialect, tt.table, err, tt.want)
		}
	}
}

// strict are the settings of a strict MySQL 5.7, on which the original's DDL fails: its second
// TIMESTAMP gets a default of zero, and zero dates are forbidden.
var strict = []string{
	"--sql-mode=STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO",
	"--explicit-defaults-for-timestamp=OFF",
}

// TestServers: the texts are accepted by real servers, twice, and the second time leaves rows
// alone.
func TestServers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		server, dialect string
		args            []string
		start           func(testing.TB, ...string) *dbtest.Server
	}{
		{"MariaDB", "mysql", strict, dbtest.MariaDB},
		{"MySQL", "mysql", strict, dbtest.MySQL},
		{"MySQL 5.6", "mysql", strict, dbtest.MySQL56},
		{"PostgreSQL", "postgres", nil, dbtest.Postgres},
		{"PostgreSQL 18", "postgres", nil, dbtest.CurrentPostgres},
	} {
		t.Run(tt.server, func(t *testing.T) {
			t.Parallel()
			srv := tt.start(t, tt.args...)
			db := srv.CreateDB(t)
			for range 2 {
				for _, table := range sql.Tables() {
					ddl, err := sql.DDL(tt.dialect, table)
					if err != nil {
						t.Fatal(err)
					}
					srv.Query(t, db, ddl)
				}
				srv.Query(t, db, "INSERT INTO WORKER_NODE (HOST_NAME, PORT, TYPE, LAUNCH_DATE) "+
					"VALUES ('h', 'p', 2, '2026-01-01')")
			}
			if got, want := srv.Query(t, db, "SELECT ID FROM WORKER_NODE ORDER BY ID"), "1\n2"; got != want {
				t.Errorf("ids = %q, want %q", got, want)
			}
		})
	}
}

// TestStrictCanFail: the settings of TestServers do refuse the original's columns.
func TestStrictCanFail(t *testing.T) {
	t.Parallel()
	srv := dbtest.MariaDB(t, strict...)
	db := srv.CreateDB(t)
	_, err := srv.TryQuery(db, "CREATE TABLE x (MODIFIED TIMESTAMP NOT NULL, CREATED TIMESTAMP NOT NULL)")
	if want := "Invalid default value"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("two TIMESTAMP NOT NULL without default on a strict server: %v, want an error with %q", err, want)
	}
}

func ExampleDDL() {
	ddl, err := sql.DDL("sqlite", "WORKER_NODE")
	if err != nil {
		panic(err)
	}
	_, statement, _ := strings.Cut(ddl, "CREATE TABLE")
	statement, _, _ = strings.Cut(statement, "(")
	fmt.Println("CREATE TABLE" + statement)
	// Output: CREATE TABLE IF NOT EXISTS WORKER_NODE
}

func dialects() []string { return []string{"mysql", "postgres", "sqlite"} }
