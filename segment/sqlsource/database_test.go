package sqlsource_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// kinds are the sources over one database, each with a counter "a" that database rows have made.
var kinds = map[string]func(*gorm.DB) segment.Source{
	"LeafAlloc": func(db *gorm.DB) segment.Source { return sqlsource.LeafAlloc(db, nil) },
	"Sequence":  func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) },
	"Ticket":    func(db *gorm.DB) segment.Source { return sqlsource.Ticket([]*gorm.DB{db}, nil) },
}

// counters makes a database whose sources have the tag "a".
func counters(tb testing.TB) (string, *gorm.DB) {
	tb.Helper()
	dsn, db := database(tb)
	run(tb, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
	run(tb, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
	return dsn, db
}

// TestUnfitDB: a *gorm.DB that cannot stand behind a source is an error that says why, at every
// method and at the start. On a transaction a Fetch would work, and a rollback hand its range out
// again.
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
	txs := []*gorm.DB{db.Begin(), prepared.Begin(), db.Begin().Session(&gorm.Session{PrepareStmt: true, NewDB: true})}
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
	failed.Error = errAway
	for name, tt := range map[string]struct {
		db   *gorm.DB
		want string
	}{
		"nil":                   {nil, "is nil"},
		"empty":                 {&gorm.DB{}, "was not opened"},
		"not opened":            {unopened, "sqlsource: "},
		"failed":                {failed, errAway.Error()},
		"dry run":               {db.Session(&gorm.Session{DryRun: true}), "is a dry run"},
		"transaction":           {txs[0], "is a transaction"},
		"prepared transaction":  {txs[1], "is a transaction"},
		"session of a prepared": {txs[2], "is a transaction"},
	} {
		for kind, source := range kinds {
			src := source(tt.db)
			if r, err := src.Fetch(t.Context(), "a", 1); !errors.Is(err, segment.ErrOptions) || !strings.Contains(err.Error(), tt.want) {
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
		if _, err := sqlsource.PlanTickets(t.Context(), []*gorm.DB{db}, nil); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("%s: PlanTickets = %v, want ErrOptions", name, err)
		}
	}
}

// TestSessions: what a caller's *gorm.DB is set up for, and what was chained to it, does not reach
// the statements.
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
		"table prefix":   config(gorm.Config{NamingStrategy: schema.NamingStrategy{TablePrefix: "x_", SingularTable: true}}),
		"no transaction": config(gorm.Config{SkipDefaultTransaction: true, DisableNestedTransaction: true}),
		"scope":          db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Where("1 = 0") }),
		"chain":          db.Where("x = 1").Table("nowhere").Limit(0),
		"ctx that ended": db.WithContext(over),
	} {
		for kind, src := range map[string]segment.Source{"one statement": sqlsource.LeafAlloc(db, nil), "read first": sqlsource.ReadingLeafAlloc(db)} {
			if err := src.(segment.Checker).Check(t.Context()); err != nil {
				t.Errorf("%s, %s: Check = %v", name, kind, err)
			}
			if r := fetch(t, src, "a", 0); r.From != want {
				t.Errorf("%s, %s: the range is %v, want it to begin at %d", name, kind, r, want)
			}
			want += 10
		}
		fetch(t, sqlsource.Sequence(db, nil), "a", 0)
		fetch(t, sqlsource.Ticket([]*gorm.DB{db}, nil), "a", 5)
	}
}

// TestServerModes: no mode of a session changes what is handed out.
func TestServerModes(t *testing.T) {
	t.Parallel()
	dsn, _ := counters(t)
	next := map[string]int64{"LeafAlloc": 1, "Sequence": 10, "Ticket": 1}
	for _, mode := range []string{
		"sql_mode=''", "sql_mode='ANSI'", "sql_mode='ORACLE'", "sql_mode='MSSQL'", "sql_mode='TRADITIONAL'",
		"sql_mode='EMPTY_STRING_IS_NULL,NO_BACKSLASH_ESCAPES'",
		"sql_mode='NO_AUTO_VALUE_ON_ZERO,PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION,IGNORE_SPACE'",
		"sql_safe_updates=1", "tx_isolation='SERIALIZABLE'", "tx_isolation='READ-UNCOMMITTED'",
	} {
		if os.Getenv(dbtest.OracleEnv) == "1" && strings.Contains(mode, "EMPTY_STRING_IS_NULL") {
			mode = "sql_mode='NO_BACKSLASH_ESCAPES'" // the other is MariaDB's
		}
		name, value, _ := strings.Cut(mode, "=")
		for _, driver := range []string{"", "&clientFoundRows=true", "&interpolateParams=true"} {
			db := open(t, dsn+"&"+name+"="+url.QueryEscape(value)+driver)
			for kind, source := range kinds {
				src := source(db)
				if err := src.(segment.Checker).Check(t.Context()); err != nil {
					t.Errorf("%s %s %s: Check = %v", mode, driver, kind, err)
				}
				for range 2 {
					r, err := src.Fetch(t.Context(), "a", 10)
					if err != nil || r.From < next[kind] || kind != "Ticket" && r.From != next[kind] {
						t.Errorf("%s %s %s: Fetch = %v, %v, want a range from %d", mode, driver, kind, r, err, next[kind])
					}
					next[kind] = max(next[kind], r.To)
				}
				setter, ok := src.(segment.Setter)
				for range 2 {
					if ok {
						if err := setter.Set(t.Context(), segment.Row{Tag: "a", Step: 10}); err != nil {
							t.Errorf("%s %s %s: Set = %v", mode, driver, kind, err)
						}
					}
				}
			}
		}
	}
}

// TestAutocommitOff: with autocommit off a statement alone is rolled back when the pool closes the
// connection, and the next process would get the same range. What a source claims, sets and takes
// back on such a connection is committed.
func TestAutocommitOff(t *testing.T) {
	t.Parallel()
	dsn, db := counters(t)
	off := open(t, dsn+"&autocommit=0")
	err := off.Connection(func(tx *gorm.DB) error { // what the statement of a fetch does there
		run(t, tx, "UPDATE leaf_alloc SET max_id = LAST_INSERT_ID(max_id + 10) WHERE biz_tag = 'a'")
		if got := number(t, tx, "SELECT LAST_INSERT_ID()"); got != 11 {
			t.Errorf("the claim ends at %d, want 11", got)
		}
		return tx.Exec("ROLLBACK").Error // as the server does when the connection is closed
	})
	if got := number(t, db, "SELECT max_id FROM leaf_alloc"); err != nil || got != 1 {
		t.Errorf("max_id is %d after the connection, %v, want 1: the claim is gone", got, err)
	}

	for kind, source := range kinds {
		off := open(t, dsn+"&autocommit=0")
		src := source(off)
		if err := src.(segment.Checker).Check(t.Context()); err != nil {
			t.Errorf("%s: Check = %v", kind, err)
		}
		first := fetch(t, src, "a", 5)
		if setter, ok := src.(segment.Setter); ok {
			if err := setter.Set(t.Context(), segment.Row{Tag: "b", Step: 5}); err != nil {
				t.Errorf("%s: Set = %v", kind, err)
			}
			rest := fetch(t, src, "b", 0)
			if ok, err := src.(segment.Returner).Return(t.Context(), "b", rest); !ok || err != nil {
				t.Errorf("%s: Return = %v, %v", kind, ok, err)
			}
		}
		closePool(t, off) // and the server rolls back what is left open
		if r := fetch(t, source(db), "a", 5); r.From < first.To {
			t.Errorf("%s: the range after %v is %v", kind, first, r)
		}
		if _, ok := src.(segment.Setter); ok {
			run(t, db, "UPDATE leaf_alloc SET step = step WHERE biz_tag = 'b'") // nothing is locked
			if rows, err := source(db).(segment.Lister).List(t.Context()); err != nil || len(rows) != 2 || rows[1].Step != 5 {
				t.Errorf("%s: the rows are %v, %v, want the one that was set", kind, rows, err)
			}
		}
	}
}

// closePool closes the connections of a pool.
func closePool(tb testing.TB, db *gorm.DB) {
	tb.Helper()
	pool, err := db.DB()
	if err != nil {
		tb.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		tb.Fatal(err)
	}
}

// TestForgottenTransaction: on a connection that went back to the pool inside of a transaction,
// what is claimed is committed all the same, and what is read is not old.
func TestForgottenTransaction(t *testing.T) {
	t.Parallel()
	dsn, db := counters(t)
	for kind, source := range kinds {
		forgetful := open(t, dsn)
		pool, err := forgetful.DB()
		if err != nil {
			t.Fatal(err)
		}
		pool.SetMaxOpenConns(1)
		forget := func() {
			if err := forgetful.Connection(func(tx *gorm.DB) error {
				run(t, tx, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
				number(t, tx, "SELECT COUNT(*) FROM leaf_alloc, t_sequence, ticket")
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		src := source(forgetful)
		fetch(t, src, "a", 5)
		forget()
		last := fetch(t, source(db), "a", 5)
		if finder, ok := src.(segment.Finder); ok {
			if row, err := finder.Find(t.Context(), "a"); err != nil || row.Next != last.To {
				t.Errorf("%s: Find in a forgotten transaction = %v, %v, want the counter at %d", kind, row, err, last.To)
			}
			forget()
		}
		for range 3 {
			r := fetch(t, src, "a", 5)
			if r.From < last.To {
				t.Errorf("%s: the range after %v is %v", kind, last, r)
			}
			last = r
			forget()
		}
		closePool(t, forgetful)
		if r := fetch(t, source(db), "a", 5); r.From < last.To {
			t.Errorf("%s: the range after %v, whose connection was closed, is %v", kind, last, r)
		}
	}
}

// TestAutocommitTurnsOff: a server that comes back with autocommit off after a failure makes no
// difference.
func TestAutocommitTurnsOff(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	name := s.CreateDB(t)
	db := open(t, s.DSN(name))
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	src := sqlsource.LeafAlloc(db, nil)
	if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: "a", Step: 10}); err != nil {
		t.Fatal(err)
	}
	fetch(t, src, "a", 0)
	if err := s.Kill(); err != nil {
		t.Fatal(err)
	}
	if r, err := src.Fetch(t.Context(), "a", 10); err == nil {
		t.Fatalf("Fetch with the server down = %v", r)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "SET GLOBAL autocommit = 0")
	for i := range int64(3) {
		if r := fetch(t, src, "a", 10); r.From != 11+10*i {
			t.Errorf("range %d from a server that has autocommit off is %v, want it to begin at %d", i, r, 11+10*i)
		}
	}
	closePool(t, db)
	if r := fetch(t, sqlsource.LeafAlloc(open(t, s.DSN(name)), nil), "a", 10); r.From != 41 {
		t.Errorf("the range after the connections were closed is %v, want it to begin at 41", r)
	}
}

// TestNarrowCounter: a counter that is an INT stands still at its maximum if the server is not
// strict, while the statement's answer goes on. It is refused before.
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
		answer, stored := number(t, tx, "SELECT LAST_INSERT_ID()"), number(t, tx, "SELECT max_id FROM leaf_alloc")
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
		t.Errorf("Check of a column that has become an INT since = %v, want ErrOptions", err)
	}
	for kind, column := range map[string]string{"LeafAlloc": "max_id", "Sequence": "current_val"} {
		src := kinds[kind](loose)
		for name, err := range map[string]error{"Check": src.(segment.Checker).Check(t.Context()), "Fetch": fetchErr(t, src, "a", 10)} {
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

// TestReadOnly: a source over a replica that may be read only does not report that it is fit for
// use, although it can be read.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := dbtest.MariaDB(t)
	name := s.CreateDB(t)
	if err := sqlsource.Migrate(t.Context(), open(t, s.DSN(name))); err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "CREATE USER app IDENTIFIED BY '"+dbtest.Password+"'", "GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO app", "SET GLOBAL read_only = 1")
	db := open(t, strings.Replace(s.DSN(name), dbtest.User+":", "app:", 1))
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		if _, err := segment.New(t.Context(), kinds[kind](db), nil); err == nil || !strings.Contains(err.Error(), "1290") {
			t.Errorf("New over %s on a replica = %v, want error 1290", kind, err)
		}
	}
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Errorf("Migrate by an account that may not create the tables that are there = %v", err)
	}
	short, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := sqlsource.Migrate(short, open(t, strings.Replace(s.DSN(s.CreateDB(t)), dbtest.User+":", "app:", 1))); err == nil {
		t.Error("Migrate by an account that may not create tables, without the tables = nil")
	}
	s.Exec(t, "SET GLOBAL read_only = 0")
	for _, kind := range []string{"LeafAlloc", "Sequence"} {
		if err := kinds[kind](db).(segment.Checker).Check(t.Context()); err != nil {
			t.Errorf("Check of %s on a server that may be written = %v", kind, err)
		}
	}
}
