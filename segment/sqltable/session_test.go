package sqltable_test

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// TestSpoiledSessions: whatever state an application leaves a pooled connection in, the ranges of five
// processes are disjoint. With statements that relied on the session, 1,960 of the 2,500 ids were
// handed out twice.
func TestSpoiledSessions(t *testing.T) {
	t.Parallel()
	dsn, _ := counters(t)
	for kind, source := range kinds {
		for _, spoil := range []string{"BEGIN", "SET autocommit = 0"} {
			var ids []int64
			for range 5 {
				db := open(t, dsn)
				pool, err := db.DB()
				if err != nil {
					t.Fatal(err)
				}
				pool.SetMaxOpenConns(1) // so that every fetch uses the same connection
				src := source(db)
				for range 50 {
					r := segtest.Fetch(t, src, "a", 10)
					for id := r.From; id < r.To; id += max(r.Stride, 1) {
						ids = append(ids, id)
					}
					run(t, db, spoil)
				}
				closePool(t, db) // the server then rolls back what is not committed
			}
			if len(ids) != 2500 {
				t.Errorf("%s, %s: %d ids, want 2500", kind, spoil, len(ids))
			}
			segtest.Distinct(t, ids)
		}
	}
}

// TestServerModes: the ranges are the same in every mode of the session.
func TestServerModes(t *testing.T) {
	t.Parallel()
	dsn, _ := counters(t)
	next := map[string]int64{"LeafAlloc": 1, "Sequence": 10, "Ticket": 1}
	modes := []string{
		"sql_mode=''", "sql_mode='ANSI'", "sql_mode='TRADITIONAL'", "sql_mode='NO_BACKSLASH_ESCAPES'",
		"sql_mode='NO_AUTO_VALUE_ON_ZERO,PAD_CHAR_TO_FULL_LENGTH,NO_UNSIGNED_SUBTRACTION,IGNORE_SPACE'",
		"sql_safe_updates=1", dbtest.Isolation() + "='SERIALIZABLE'", dbtest.Isolation() + "='READ-UNCOMMITTED'",
	}
	if os.Getenv(dbtest.OracleEnv) != "1" { // those that only MariaDB has
		modes = append(modes, "sql_mode='ORACLE'", "sql_mode='MSSQL'",
			"sql_mode='EMPTY_STRING_IS_NULL,NO_BACKSLASH_ESCAPES'")
	}
	for _, mode := range modes {
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
						t.Errorf("%s %s %s: Fetch = %v, %v, want a range from %d",
							mode, driver, kind, r, err, next[kind])
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

// TestAutocommitOff: with autocommit off, a lone statement is rolled back when the pool closes the
// connection, and the next process would get the same range. Fetch, Set and Return of a source commit
// on such a connection.
func TestAutocommitOff(t *testing.T) {
	t.Parallel()
	dsn, db := counters(t)
	off := open(t, dsn+"&autocommit=0")
	err := off.Connection(func(tx *gorm.DB) error { // the statement of a fetch alone
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
		first := segtest.Fetch(t, src, "a", 5)
		if setter, ok := src.(segment.Setter); ok {
			if err := setter.Set(t.Context(), segment.Row{Tag: "b", Step: 5}); err != nil {
				t.Errorf("%s: Set = %v", kind, err)
			}
			rest := segtest.Fetch(t, src, "b", 0)
			if ok, err := src.(segment.Returner).Return(t.Context(), "b", rest); !ok || err != nil {
				t.Errorf("%s: Return = %v, %v", kind, ok, err)
			}
		}
		closePool(t, off) // the server then rolls back an open transaction
		if r := segtest.Fetch(t, source(db), "a", 5); r.From < first.To {
			t.Errorf("%s: the range after %v is %v", kind, first, r)
		}
		if _, ok := src.(segment.Setter); ok {
			run(t, db, "UPDATE leaf_alloc SET step = step WHERE biz_tag = 'b'") // nothing is locked
			rows, err := source(db).(segment.Lister).List(t.Context())
			if err != nil || len(rows) != 2 || rows[1].Step != 5 {
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

// TestForgottenTransaction: on a connection that went back to the pool inside a transaction, claims are
// still committed, and reads see current rows.
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
		segtest.Fetch(t, src, "a", 5)
		forget()
		last := segtest.Fetch(t, source(db), "a", 5)
		if finder, ok := src.(segment.Finder); ok {
			if row, err := finder.Find(t.Context(), "a"); err != nil || row.Next != last.To {
				t.Errorf("%s: Find in a forgotten transaction = %v, %v, want the counter at %d",
					kind, row, err, last.To)
			}
			forget()
		}
		for range 3 {
			r := segtest.Fetch(t, src, "a", 5)
			if r.From < last.To {
				t.Errorf("%s: the range after %v is %v", kind, last, r)
			}
			last = r
			forget()
		}
		closePool(t, forgetful)
		if r := segtest.Fetch(t, source(db), "a", 5); r.From < last.To {
			t.Errorf("%s: the range after %v, whose connection was closed, is %v", kind, last, r)
		}
	}
}

// TestAutocommitTurnsOff: claims are committed on a server that comes back from a failure with
// autocommit off.
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
	segtest.Fetch(t, src, "a", 0)
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
		if r := segtest.Fetch(t, src, "a", 10); r.From != 11+10*i {
			t.Errorf("range %d from a server that has autocommit off is %v, want it to begin at %d", i, r, 11+10*i)
		}
	}
	closePool(t, db)
	if r := segtest.Fetch(t, sqlsource.LeafAlloc(open(t, s.DSN(name)), nil), "a", 10); r.From != 41 {
		t.Errorf("the range after the connections were closed is %v, want it to begin at 41", r)
	}
}
