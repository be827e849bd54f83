package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/glebarez/sqlite"
	"github.com/uidring/uidring/assigner/workernode"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
)

// dialect is a database system that the tests run on.
type dialect struct {
	name string

	// fresh makes an empty database and returns its DSN.
	fresh func(t testing.TB) (dsn string)

	// open opens a pool of its own, as a process would.
	open func(dsn string) (*gorm.DB, error)
}

// dialects are the three database systems. The slice is read-only.
var dialects = []dialect{
	{
		name: "MariaDB",
		fresh: func(t testing.TB) string {
			srv := servers.MariaDB(t)
			return srv.DSN(srv.CreateDB(t))
		},
		open: workernode.OpenMySQL,
	},
	{
		name: "PostgreSQL",
		fresh: func(t testing.TB) string {
			srv := servers.Postgres(t)
			return srv.DSN(srv.CreateDB(t))
		},
		open: func(dsn string) (*gorm.DB, error) {
			return gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true})
		},
	},
	{
		name: "SQLite",
		fresh: func(t testing.TB) string {
			// A writer waits for another one instead of failing. The library retries either way.
			return "file:" + filepath.Join(t.TempDir(), "uid.db") +
				"?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
		},
		open: func(dsn string) (*gorm.DB, error) {
			return gorm.Open(sqlite.Open(dsn), &gorm.Config{Logger: logger.Discard})
		},
	},
}

// onEach runs a test on every dialect.
func onEach(t *testing.T, test func(t *testing.T, d dialect)) {
	t.Helper()
	on(t, dialects, test)
}

// on runs a test on some dialects.
func on(t *testing.T, some []dialect, test func(t *testing.T, d dialect)) {
	t.Helper()
	t.Parallel()
	for _, d := range some {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			test(t, d)
		})
	}
}

// connect opens a pool and closes it when the test ends.
func (d dialect) connect(t testing.TB, dsn string) *gorm.DB {
	t.Helper()
	db, err := d.open(dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pool, err := db.DB(); err == nil {
			pool.Close()
		}
	})
	return db
}

// migrated returns the DSN of a database with the tables in it.
func (d dialect) migrated(t testing.TB) (dsn string) {
	t.Helper()
	dsn = d.fresh(t)
	if err := workernode.Migrate(context.Background(), d.connect(t, dsn)); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// recent counts the rows of a table in which a column of times has the current minute, give or take
// one. All rows have to.
func (d dialect) recent(t testing.TB, db *gorm.DB, table, column string) (rows int) {
	t.Helper()
	now := map[string]string{
		"MariaDB":    "ABS(TIMESTAMPDIFF(SECOND, %s, UTC_TIMESTAMP()))",
		"PostgreSQL": "ABS(EXTRACT(EPOCH FROM %s - CLOCK_TIMESTAMP()))",
		"SQLite":     "ABS(STRFTIME('%%s', %s) - STRFTIME('%%s', 'now'))",
	}[d.name]
	var all int
	query := "SELECT COUNT(*), COUNT(CASE WHEN " + fmt.Sprintf(now, column) + " < 60 THEN 1 END) FROM " + table
	if err := db.Raw(query).Row().Scan(&all, &rows); err != nil || rows != all {
		t.Errorf("%s: %d of %d rows have a recent %s, %v, want all", table, rows, all, column, err)
	}
	return rows
}

// openAny opens a database by the form of its DSN, which is all that a worker process has.
func openAny(dsn string) (*gorm.DB, error) {
	for prefix, d := range map[string]dialect{"postgres://": dialects[1], "file:": dialects[2]} {
		if strings.HasPrefix(dsn, prefix) {
			return d.open(dsn)
		}
	}
	if strings.Contains(dsn, "@tcp(") {
		return dialects[0].open(dsn)
	}
	return nil, fmt.Errorf("no dialect for the DSN")
}
