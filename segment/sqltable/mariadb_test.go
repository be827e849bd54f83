package sqltable_test

import (
	"os"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

var servers dbtest.Shared

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		worker() // the process is a copy that a test started
		return
	}
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// open opens a new pool on a MySQL data source.
func open(tb testing.TB, dsn string) *gorm.DB {
	tb.Helper()
	db, err := openDB(dsn)
	if err != nil {
		tb.Fatalf("open the database: %v", err)
	}
	pool, err := db.DB()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { pool.Close() })
	return db
}

func openDB(dsn string) (*gorm.DB, error) {
	return gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard})
}

// database creates a database with the tables of this package on the shared MariaDB server. It
// returns its DSN and a pool.
func database(tb testing.TB) (string, *gorm.DB) {
	tb.Helper()
	s := servers.MariaDB(tb)
	dsn := s.DSN(s.CreateDB(tb))
	db := open(tb, dsn)
	for range 2 { // the second time the tables exist
		if err := sqlsource.Migrate(tb.Context(), db); err != nil {
			tb.Fatalf("Migrate: %v", err)
		}
	}
	return dsn, db
}

// run executes a statement.
func run(tb testing.TB, db *gorm.DB, statement string, args ...any) {
	tb.Helper()
	if err := db.Exec(statement, args...).Error; err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// number returns the only value in the result of a query.
func number(tb testing.TB, db *gorm.DB, query string, args ...any) int64 {
	tb.Helper()
	var n int64
	if err := db.Raw(query, args...).Row().Scan(&n); err != nil {
		tb.Fatalf("%s: %v", query, err)
	}
	return n
}

// TestConformance runs the suite over each source on MariaDB, and over LeafAlloc with a read of the row
// before each claim.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		open func(*gorm.DB) segment.Source
		lock bool
	}{
		{"LeafAlloc", func(db *gorm.DB) segment.Source { return sqlsource.LeafAlloc(db, nil) }, false},
		{"LeafAllocRead", func(db *gorm.DB) segment.Source { return reading(db) }, true},
		{"Sequence", func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) }, false},
		{"SequenceFromCurrent", func(db *gorm.DB) segment.Source {
			return sqlsource.Sequence(db, &sqltable.SequenceOptions{FromCurrent: true})
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dsn, db := database(t)
			run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
			run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
			segmenttest.Run(t, segmenttest.Config{
				Open:    func(tb testing.TB) segment.Source { return tt.open(open(tb, dsn)) },
				Tag:     "a",
				Unknown: "nobody",
				Spare:   "spare",
			})
		})
	}
	t.Run("Ticket", func(t *testing.T) {
		t.Parallel()
		dsn, _ := database(t)
		segmenttest.Run(t, segmenttest.Config{
			Open: func(tb testing.TB) segment.Source { return sqlsource.Ticket([]*gorm.DB{open(tb, dsn)}, nil) },
			Tag:  "a",
		})
	})
}
