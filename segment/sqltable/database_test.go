package sqltable_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// kinds are the constructors of the sources over one database.
var kinds = map[string]func(*gorm.DB) segment.Source{
	"LeafAlloc": func(db *gorm.DB) segment.Source { return sqlsource.LeafAlloc(db, nil) },
	"Sequence":  func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) },
	"Ticket":    func(db *gorm.DB) segment.Source { return sqlsource.Ticket([]*gorm.DB{db}, nil) },
}

// counters creates a database whose sources have the tag "a". It returns the DSN and a pool.
func counters(tb testing.TB) (string, *gorm.DB) {
	tb.Helper()
	dsn, db := database(tb)
	run(tb, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
	run(tb, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
	return dsn, db
}

// TestUnfitDB: every method of a source, and Check at the start, return an error that says why a
// *gorm.DB cannot be used. On a transaction a Fetch would work, and a rollback would make its range
// free again.
func TestUnfitDB(t *testing.T) {
	t.Parallel()
	dsn, db := counters(t)
	prepared, err := gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard, PrepareStmt: true})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := prepared.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	txs := []*gorm.DB{
		db.Begin(), prepared.Begin(), db.Begin().Session(&gorm.Session{PrepareStmt: true, NewDB: true}),
	}
	defer func() {
		for _, tx := range txs {
			tx.Rollback()
		}
	}()
	unopened, err := gorm.Open(mysql.Open("no data source"), &gorm.Config{Logger: logger.Discard})
	if err == nil {
		t.Fatal("a DSN without a database was opened")
	}
	failed := db.Session(&gorm.Session{})
	failed.Error = segtest.ErrAway
	for name, tt := range map[string]struct {
		db   *gorm.DB
		want string
	}{
		"nil":                   {nil, "is nil"},
		"empty":                 {&gorm.DB{}, "was not opened"},
		"not opened":            {unopened, "sqlsource: "},
		"failed":                {failed, segtest.ErrAway.Error()},
		"dry run":               {db.Session(&gorm.Session{DryRun: true}), "is a dry run"},
		"transaction":           {txs[0], "is a transaction"},
		"prepared transaction":  {txs[1], "is a transaction"},
		"session of a prepared": {txs[2], "is a transaction"},
	} {
		for kind, source := range kinds {
			src := source(tt.db)
			r, err := src.Fetch(t.Context(), "a", 1)
			if !errors.Is(err, segment.ErrOptions) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s, %s: Fetch = %v, %v, want ErrOptions with %q", name, kind, r, err, tt.want)
			}
			if err := src.(segment.Checker).Check(t.Context()); !errors.Is(err, segment.ErrOptions) {
				t.Errorf("%s, %s: Check = %v, want ErrOptions", name, kind, err)
			}
		}
	}
	for name, db := range map[string]*gorm.DB{"nil": nil, "empty": {}, "not opened": unopened} {
		if err := sqlsource.Migrate(t.Context(), db); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("%s: Migrate = %v, want ErrOptions", name, err)
		}
	}
}

// TestSessions: the configuration of a caller's *gorm.DB, and what was chained to it, do not affect the
// statements.
func TestSessions(t *testing.T) {
	t.Parallel()
	dsn, db := counters(t)
	config := func(c gorm.Config) *gorm.DB {
		c.Logger = logger.Discard
		db, err := gorm.Open(mysql.Open(dsn), &c)
		if err != nil {
			t.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pool.Close() })
		return db
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	want := int64(1)
	for name, db := range map[string]*gorm.DB{
		"prepared":       config(gorm.Config{PrepareStmt: true}),
		"prepared twice": config(gorm.Config{PrepareStmt: true}).Session(&gorm.Session{PrepareStmt: true}),
		"table prefix": config(gorm.Config{
			NamingStrategy: schema.NamingStrategy{TablePrefix: "x_", SingularTable: true},
		}),
		"no transaction": config(gorm.Config{SkipDefaultTransaction: true, DisableNestedTransaction: true}),
		"scope":          db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("1 = 0") }),
		"chain":          db.Where("x = 1").Table("nowhere").Limit(0),
		"ctx that ended": db.WithContext(over),
	} {
		for kind, src := range map[string]segment.Source{
			"one statement": sqlsource.LeafAlloc(db, nil), "read first": reading(db),
		} {
			if err := src.(segment.Checker).Check(t.Context()); err != nil {
				t.Errorf("%s, %s: Check = %v", name, kind, err)
			}
			if r := segtest.Fetch(t, src, "a", 0); r.From != want {
				t.Errorf("%s, %s: the range is %v, want it to begin at %d", name, kind, r, want)
			}
			want += 10
		}
		segtest.Fetch(t, sqlsource.Sequence(db, nil), "a", 0)
		segtest.Fetch(t, sqlsource.Ticket([]*gorm.DB{db}, nil), "a", 5)
	}
}

// TestNarrowCounter: if the server is not in strict mode, an INT counter stops at its maximum, while
// the statement's answer goes on. Such a column is refused before the first claim.
func TestNarrowCounter(t *testing.T) {
	t.Parallel()
	dsn, db := counters(t)
	loose := open(t, dsn+"&sql_mode=%27%27")
	run(t, db, "ALTER TABLE leaf_alloc MODIFY max_id INT NOT NULL")
	run(t, db, "ALTER TABLE t_sequence MODIFY current_val INT NOT NULL")
	run(t, db, "UPDATE leaf_alloc SET max_id = 2147483640")
	run(t, db, "UPDATE t_sequence SET current_val = 2147483640")
	err := loose.Connection(func(tx *gorm.DB) error {
		run(t, tx, "UPDATE leaf_alloc SET max_id = LAST_INSERT_ID(max_id + 10) WHERE biz_tag = 'a'")
		answer := number(t, tx, "SELECT LAST_INSERT_ID()")
		stored := number(t, tx, "SELECT max_id FROM leaf_alloc")
		if answer != 2147483650 || stored != 2147483647 {
			t.Errorf("the update answers %d and stores %d, want 2147483650 and 2147483647", answer, stored)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	src := kinds["LeafAlloc"](loose)
	run(t, db, "ALTER TABLE leaf_alloc MODIFY max_id BIGINT NOT NULL")
	if err := src.(segment.Checker).Check(t.Context()); err != nil {
		t.Errorf("Check of a BIGINT = %v", err)
	}
	run(t, db, "ALTER TABLE leaf_alloc MODIFY max_id INT NOT NULL")
	if err := src.(segment.Checker).Check(t.Context()); !errors.Is(err, segment.ErrOptions) {
		t.Errorf("Check after the column became an INT = %v, want ErrOptions", err)
	}
	for kind, column := range map[string]string{"LeafAlloc": "max_id", "Sequence": "current_val"} {
		src := kinds[kind](loose)
		for name, err := range map[string]error{
			"Check": src.(segment.Checker).Check(t.Context()), "Fetch": fetchErr(t, src, "a", 10),
		} {
			if !errors.Is(err, segment.ErrOptions) || !strings.Contains(err.Error(), "column "+column) {
				t.Errorf("%s: %s = %v, want ErrOptions that names %s", kind, name, err, column)
			}
		}
	}
}

// fetchErr returns the error of a fetch.
func fetchErr(tb testing.TB, src segment.Source, tag string, step int64) error {
	tb.Helper()
	_, err := src.Fetch(tb.Context(), tag, step)
	return err
}

// TestReadOnly: New fails over a read-only replica, although the table can be read.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	name := s.CreateDB(t)
	if err := sqlsource.Migrate(t.Context(), open(t, s.DSN(name))); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "CREATE USER app IDENTIFIED BY '"+dbtest.Password+"'",
		"GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO app", "SET GLOBAL read_only = 1")
	db := open(t, strings.Replace(s.DSN(name), dbtest.User+":", "app:", 1))
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		_, err := segment.New(t.Context(), kinds[kind](db), nil)
		if err == nil || !strings.Contains(err.Error(), "1290") {
			t.Errorf("New over %s on a replica = %v, want error 1290", kind, err)
		}
	}
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Errorf("Migrate without the privilege to create tables that exist = %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	empty := open(t, strings.Replace(s.DSN(s.CreateDB(t)), dbtest.User+":", "app:", 1))
	if err := sqlsource.Migrate(short, empty); err == nil {
		t.Error("Migrate of missing tables without the privilege to create tables = nil")
	}
	s.Exec(t, "SET GLOBAL read_only = 0")
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		if err := kinds[kind](db).(segment.Checker).Check(t.Context()); err != nil {
			t.Errorf("Check of %s on a writable server = %v", kind, err)
		}
	}
}
