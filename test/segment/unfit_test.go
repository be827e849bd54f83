package segment_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
	ddl "github.com/uidring/uidring/sql"
)

// TestTransactionRefused: a fetch on a transaction is refused, because a rollback would hand its
// range out again.
func TestTransactionRefused(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		tx := db.Begin()
		defer tx.Rollback()
		for name, src := range map[string]segment.Source{
			"LeafAlloc": sqlsource.LeafAlloc(tx, nil),
			"Sequence":  sqlsource.Sequence(tx, nil),
			"Ticket":    sqlsource.Ticket([]*gorm.DB{tx}, nil),
		} {
			if r, err := src.Fetch(t.Context(), "a", 1); !errors.Is(err, segment.ErrOptions) {
				t.Errorf("%s: Fetch on a transaction = %v, %v, want ErrOptions", name, r, err)
			}
		}
	})
}

// TestMigrateTogether: of two processes that make a table at the same moment, PostgreSQL fails the
// second one when the first one commits. Migrate succeeds in both, because the table is there then.
func TestMigrateTogether(t *testing.T) {
	t.Parallel()
	s := servers.Postgres(t)
	db := open(t, postgres.Open(s.DSN(s.CreateDB(t))))
	first := db.Begin()
	for _, table := range ddl.Tables() {
		text, err := ddl.DDL("postgres", table)
		if err != nil {
			t.Fatal(err)
		}
		run(t, first, text)
	}
	second := make(chan error, 1)
	go func() { second <- sqlsource.Migrate(t.Context(), db) }()
	for waits := int64(0); waits == 0; time.Sleep(time.Millisecond) {
		waiting := db.Raw("SELECT COUNT(*) FROM pg_stat_activity " +
			"WHERE datname = current_database() AND wait_event_type = 'Lock'")
		if err := waiting.Row().Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Commit().Error; err != nil {
		t.Fatal(err)
	}
	if err := <-second; err != nil {
		t.Errorf("Migrate at the same time as another one = %v", err)
	}
}

// TestNames: a tag that is not valid text, which PostgreSQL answers with an error, is an unknown tag
// on every database. The length of a tag counts characters, not bytes.
func TestNames(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		src := sqlsource.LeafAlloc(db, nil)
		for _, tag := range []string{"\xff", "a\x00b", strings.Repeat("段", 129)} {
			if r, err := src.Fetch(t.Context(), tag, 1); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("Fetch(%q) = %v, %v, want ErrUnknownTag", tag, r, err)
			}
		}
		long := strings.Repeat("段", 128)
		if err := src.(segment.Setter).Set(t.Context(), segment.Row{Tag: long, Step: 10}); err != nil {
			t.Fatal(err)
		}
		segtest.Fetch(t, src, long, 0)
	})
}

// TestEqualNames: where a column's collation takes two names for equal, only the name that is stored
// is a tag.
func TestEqualNames(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		if db.Name() == "postgres" {
			run(t, db, "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
			run(t, db, "ALTER TABLE leaf_alloc ALTER COLUMN biz_tag TYPE VARCHAR(128) COLLATE loose")
		} else {
			run(t, db, "DROP TABLE leaf_alloc")
			run(t, db, "CREATE TABLE leaf_alloc (biz_tag TEXT COLLATE NOCASE PRIMARY KEY, max_id BIGINT, "+
				"step INT, update_time TEXT)")
		}
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('order', 1, 10)")
		var n int64
		equal := db.Raw("SELECT COUNT(*) FROM leaf_alloc WHERE biz_tag = 'ORDER'")
		if err := equal.Row().Scan(&n); err != nil || n != 1 {
			t.Fatalf("%d rows are equal to ORDER, %v, want 1", n, err)
		}
		src := sqlsource.LeafAlloc(db, nil)
		for _, step := range []int64{0, 5} {
			if r, err := src.Fetch(t.Context(), "ORDER", step); !errors.Is(err, segment.ErrUnknownTag) {
				t.Errorf("Fetch of ORDER = %v, %v, want ErrUnknownTag", r, err)
			}
		}
		if r := segtest.Fetch(t, src, "order", 0); r.From != 1 {
			t.Errorf("the first range is %v, want it to begin at 1", r)
		}
	})
}

// TestGoneBesideItsLike: a tag that is deleted is unknown, also if the name of another one differs
// only in case.
func TestGoneBesideItsLike(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		run(t, db, "INSERT INTO t_sequence VALUES ('order', 0, 10), ('Order', 0, 10)")
		g, err := segment.New(t.Context(), sqlsource.Sequence(db, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		for _, tag := range []string{"order", "Order"} {
			ids := make([]int64, 11) // the second range has arrived
			if _, err := g.Fill(t.Context(), tag, ids); err != nil {
				t.Fatal(err)
			}
		}
		run(t, db, "DELETE FROM t_sequence WHERE pk_seq_name = 'Order'")
		if err := g.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if id, err := g.Next(t.Context(), "Order"); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Next of the deleted tag = %d, %v, want ErrUnknownTag", id, err)
		}
		if id, err := g.Next(t.Context(), "order"); err != nil {
			t.Errorf("Next of the other tag = %d, %v, want an id", id, err)
		}
	})
}

// TestCommitFails: a range that the statement has returned is not handed out if the commit fails.
func TestCommitFails(t *testing.T) {
	t.Parallel()
	s := servers.Postgres(t)
	db := open(t, postgres.Open(s.DSN(s.CreateDB(t))))
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
	run(t, db, "CREATE FUNCTION fails() RETURNS trigger LANGUAGE plpgsql AS "+
		"'BEGIN RAISE EXCEPTION ''as told''; END'")
	for _, table := range []string{"leaf_alloc", "t_sequence", "ticket"} {
		run(t, db, "CREATE CONSTRAINT TRIGGER fails AFTER INSERT OR UPDATE ON "+table+
			" DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION fails()")
	}
	for name, src := range map[string]segment.Source{
		"LeafAlloc": sqlsource.LeafAlloc(db, nil),
		"Sequence":  sqlsource.Sequence(db, nil),
		"Ticket":    sqlsource.Ticket([]*gorm.DB{db}, nil),
	} {
		if r, err := src.Fetch(t.Context(), "a", 0); err == nil || !strings.Contains(err.Error(), "as told") {
			t.Errorf("%s: Fetch whose commit fails = %v, %v, want the commit's error", name, r, err)
		}
	}
}

// TestForgottenTransaction: a range is committed also on a connection that went back to the pool
// inside of a transaction.
func TestForgottenTransaction(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *gorm.DB, db *gorm.DB) {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
		run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
		for name, source := range map[string]func(*gorm.DB) segment.Source{
			"LeafAlloc": func(db *gorm.DB) segment.Source { return sqlsource.LeafAlloc(db, nil) },
			"Sequence":  func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) },
			"Ticket":    func(db *gorm.DB) segment.Source { return sqlsource.Ticket([]*gorm.DB{db}, nil) },
		} {
			forgetful := open(t)
			pool, err := forgetful.DB()
			if err != nil {
				t.Fatal(err)
			}
			pool.SetMaxOpenConns(1)
			src := source(forgetful)
			last := segtest.Fetch(t, src, "a", 10)
			for range 3 {
				if err := forgetful.Connection(func(tx *gorm.DB) error {
					run(t, tx, "BEGIN")
					return tx.Exec("SELECT COUNT(*) FROM leaf_alloc").Error
				}); err != nil {
					t.Fatal(err)
				}
				r := segtest.Fetch(t, src, "a", 10)
				if r.From < last.To {
					t.Errorf("%s: the range after %v is %v, want a later one", name, last, r)
				}
				last = r
			}
			if err := pool.Close(); err != nil {
				t.Fatal(err)
			}
			if r := segtest.Fetch(t, source(db), "a", 10); r.From < last.To {
				t.Errorf("%s: the range after %v, whose connection was closed, is %v, want a later one",
					name, last, r)
			}
		}
	})
}

// TestNarrowCounter: a counter that has reached the end of its column is ErrExhausted, and no call
// waits for it.
func TestNarrowCounter(t *testing.T) {
	t.Parallel()
	s := servers.Postgres(t)
	db := open(t, postgres.Open(s.DSN(s.CreateDB(t))))
	if err := sqlsource.Migrate(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	run(t, db, "ALTER TABLE leaf_alloc ALTER COLUMN max_id TYPE INT")
	run(t, db, "ALTER TABLE t_sequence ALTER COLUMN current_val TYPE INT")
	run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 2147483640, 10)")
	run(t, db, "INSERT INTO t_sequence VALUES ('a', 2147483640, 10)")
	for name, src := range map[string]segment.Source{
		"LeafAlloc": sqlsource.LeafAlloc(db, nil), "Sequence": sqlsource.Sequence(db, nil),
	} {
		for _, step := range []int64{0, 10} {
			if r, err := src.Fetch(t.Context(), "a", step); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("%s: Fetch with step %d = %v, %v, want ErrExhausted", name, step, r, err)
			}
		}
	}
}

// TestTicketTables: tables whose ids may repeat, or that would grow by a row per id, are refused.
func TestTicketTables(t *testing.T) {
	t.Parallel()
	s := servers.Postgres(t)
	for _, tt := range []struct {
		db     *gorm.DB
		change []string
		want   string
	}{
		{dialects[1].fresh(t)(t), []string{
			"CREATE TABLE ticket (id INTEGER PRIMARY KEY AUTOINCREMENT, stub TEXT NOT NULL)",
		}, "no UNIQUE key"},
		{dialects[1].fresh(t)(t), []string{
			"CREATE TABLE ticket (id INTEGER PRIMARY KEY AUTOINCREMENT, stub TEXT NOT NULL)",
			"CREATE UNIQUE INDEX i ON ticket (stub, id)",
			"CREATE UNIQUE INDEX j ON ticket (stub) WHERE id > 7",
		}, "no UNIQUE key"},
		{dialects[1].fresh(t)(t), []string{
			"CREATE TABLE ticket (id INTEGER PRIMARY KEY, stub TEXT NOT NULL UNIQUE)",
		}, "no AUTOINCREMENT"},
		{open(t, postgres.Open(s.DSN(s.CreateDB(t)))), []string{
			"CREATE TABLE ticket (id BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, stub TEXT NOT NULL)",
		}, "no UNIQUE key"},
		{open(t, postgres.Open(s.DSN(s.CreateDB(t)))), []string{
			"CREATE TABLE ticket (id BIGINT GENERATED BY DEFAULT AS IDENTITY (MAXVALUE 9 CYCLE) PRIMARY KEY, " +
				"stub TEXT NOT NULL UNIQUE)",
		}, "has CYCLE"},
		{open(t, postgres.Open(s.DSN(s.CreateDB(t)))), []string{
			"CREATE TABLE ticket (id BIGINT GENERATED BY DEFAULT AS IDENTITY (CACHE 20) PRIMARY KEY, " +
				"stub TEXT NOT NULL UNIQUE)",
		}, "CACHE 20"},
	} {
		for _, statement := range tt.change {
			run(t, tt.db, statement)
		}
		src := sqlsource.Ticket([]*gorm.DB{tt.db}, nil)
		err := src.(segment.Checker).Check(t.Context())
		if !errors.Is(err, sqltable.ErrTicketServer) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s: Check = %v, want ErrTicketServer with %q", tt.db.Name(), tt.change, err, tt.want)
		}
		if r, err := src.Fetch(t.Context(), "a", 1); !errors.Is(err, sqltable.ErrTicketServer) {
			t.Errorf("%s, %s: Fetch = %v, %v, want ErrTicketServer", tt.db.Name(), tt.change, r, err)
		}
	}
}

// TestTicketSchema: the table may be in another schema.
func TestTicketSchema(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		schema := "main"
		if db.Name() == "postgres" {
			schema = "other"
			run(t, db, "CREATE SCHEMA other")
			run(t, db, "ALTER TABLE ticket SET SCHEMA other")
		}
		src := sqlsource.Ticket([]*gorm.DB{db}, &sqltable.TicketOptions{Table: schema + ".ticket"})
		if err := src.(segment.Checker).Check(t.Context()); err != nil {
			t.Errorf("Check = %v, want no error", err)
		}
		segtest.Fetch(t, src, "a", 1)
	})
}

// TestTicketMoved: a counter that was moved to another server's ids is refused at its first id. Its
// settings do not show that it was moved.
func TestTicketMoved(t *testing.T) {
	t.Parallel()
	dbs := twoTicketServers(t)
	run(t, dbs[1], "ALTER TABLE ticket ALTER COLUMN id RESTART WITH 101")
	src := sqlsource.Ticket(dbs, nil)
	for want := int64(1); want < 20; want += 2 { // server 0 serves alone
		if r := segtest.Fetch(t, src, "a", 1); r.From != want {
			t.Errorf("the ticket is %v, want %d", r, want)
		}
	}
	moved := sqlsource.Ticket(dbs[1:], &sqltable.TicketOptions{Step: 2})
	if r, err := moved.Fetch(t.Context(), "a", 1); !errors.Is(err, sqltable.ErrTicketServer) {
		t.Errorf("Fetch from the server whose counter was moved = %v, %v, want ErrTicketServer", r, err)
	}
	run(t, dbs[1], "ALTER TABLE ticket ALTER COLUMN id RESTART WITH 1002")
	moved = sqlsource.Ticket(dbs[1:], &sqltable.TicketOptions{Step: 2})
	if r := segtest.Fetch(t, moved, "a", 1); r.From != 1002 {
		t.Errorf("the ticket after the counter was moved to an id of its own is %v, want 1002", r)
	}
}

// TestTicketExhausted: a counter at the end of its numbers is ErrExhausted, whatever error the
// database returns.
func TestTicketExhausted(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		const last = int64(math.MaxInt64) - 1 // the end of a range of one id has to fit as well
		if db.Name() == "sqlite" {
			run(t, db, "INSERT INTO ticket VALUES (?, 'z')", last-1)
		} else {
			run(t, db, fmt.Sprint("ALTER TABLE ticket ALTER COLUMN id RESTART WITH ", last))
		}
		src := sqlsource.Ticket([]*gorm.DB{db}, nil)
		if r := segtest.Fetch(t, src, "a", 1); r.From != last {
			t.Errorf("the ticket is %v, want %d", r, last)
		}
		for range 3 {
			if r, err := src.Fetch(t.Context(), "a", 1); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("Fetch at the end of the counter = %v, %v, want ErrExhausted", r, err)
			}
		}
	})
}
