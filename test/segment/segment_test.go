package segment_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/segmenttest"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// servers has the database servers that all tests share.
var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// dialects are the databases. fresh makes an empty database and returns a function that opens a new
// pool on it.
var dialects = []struct {
	name  string
	fresh func(t *testing.T) func(tb testing.TB) *gorm.DB
}{
	{"postgres", func(t *testing.T) func(testing.TB) *gorm.DB {
		s := servers.Postgres(t)
		dsn := s.DSN(s.CreateDB(t))
		return func(tb testing.TB) *gorm.DB { return open(tb, postgres.Open(dsn)) }
	}},
	{"sqlite", func(t *testing.T) func(testing.TB) *gorm.DB {
		file := filepath.Join(t.TempDir(), "segment.db")
		return func(tb testing.TB) *gorm.DB {
			return open(tb, sqlite.Open(file+"?_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)"))
		}
	}},
}

// open opens a pool and closes it when the test ends.
func open(tb testing.TB, d gorm.Dialector) *gorm.DB {
	tb.Helper()
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
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

// each runs f as a subtest on each kind of database, with a database of its own that has the tables.
// open opens another pool on it.
func each(t *testing.T, f func(t *testing.T, open func(testing.TB) *gorm.DB, db *gorm.DB)) {
	t.Helper()
	t.Parallel()
	for _, d := range dialects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			open := d.fresh(t)
			db := open(t)
			for range 2 { // the second time nothing is missing
				if err := sqlsource.Migrate(t.Context(), db); err != nil {
					t.Fatalf("Migrate: %v", err)
				}
			}
			f(t, open, db)
		})
	}
}

// run runs a statement, and fails the test if that fails.
func run(tb testing.TB, db *gorm.DB, statement string, args ...any) {
	tb.Helper()
	if err := db.Exec(statement, args...).Error; err != nil {
		tb.Fatalf("%s: %v", statement, err)
	}
}

// TestConformance runs the conformance suite on every source.
func TestConformance(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *gorm.DB, db *gorm.DB) {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 10)")
		run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 10)")
		for _, tt := range []struct {
			name   string
			source func(db *gorm.DB) segment.Source
		}{
			{"LeafAlloc", func(db *gorm.DB) segment.Source { return sqlsource.LeafAlloc(db, nil) }},
			{"Sequence", func(db *gorm.DB) segment.Source { return sqlsource.Sequence(db, nil) }},
			{"SequenceFromCurrent", func(db *gorm.DB) segment.Source {
				return sqlsource.Sequence(db, &sqltable.SequenceOptions{FromCurrent: true})
			}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				segmenttest.Run(t, segmenttest.Config{
					Open:    func(tb testing.TB) segment.Source { return tt.source(open(tb)) },
					Tag:     "a",
					Unknown: "nobody",
					Spare:   strings.ToLower(tt.name),
				})
			})
		}
		t.Run("Ticket", func(t *testing.T) {
			segmenttest.Run(t, segmenttest.Config{
				Open: func(tb testing.TB) segment.Source {
					// Eight writers share one file. SQLite has no queue, so one of them may wait for long.
					return sqlsource.Ticket([]*gorm.DB{open(tb)},
						&sqltable.TicketOptions{Timeout: time.Minute})
				},
				Tag: "a",
			})
		})
	})
}

// TestExactlyOnce: several Generators with pools of their own, as processes have them, hand out each
// id once.
func TestExactlyOnce(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *gorm.DB, db *gorm.DB) {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('a', 1, 20)")
		var (
			mu  sync.Mutex
			wg  sync.WaitGroup
			all []int64
		)
		for range 3 {
			src := sqlsource.LeafAlloc(open(t), nil)
			g, err := segment.New(t.Context(), src, &segment.Options{MaxStep: 50})
			if err != nil {
				t.Fatal(err)
			}
			defer g.Close()
			for range 4 {
				wg.Go(func() {
					ids := make([]int64, 500)
					for i := range ids {
						id, err := g.Next(t.Context(), "a")
						if err != nil {
							t.Errorf("Next: %v", err)
							return
						}
						ids[i] = id
					}
					if !slices.IsSorted(ids) {
						t.Error("the ids of a goroutine do not increase")
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, ids...)
				})
			}
		}
		wg.Wait()
		slices.Sort(all)
		for i := 1; i < len(all); i++ {
			if all[i] == all[i-1] {
				t.Errorf("id %d was repeated", all[i])
			}
		}
		if len(all) != 3*4*500 {
			t.Errorf("%d ids, want %d", len(all), 3*4*500)
		}
	})
}

// TestBounds: rows at the end of the numbers and rows with invalid values are errors, and stay as they
// were.
func TestBounds(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES "+
			"('full', ?, 10), ('zero', 1, 0), ('minus', 500, -10), ('below', -100, 10)", int64(math.MaxInt64-5))
		for _, widen := range []string{
			"ALTER TABLE leaf_alloc ALTER COLUMN step TYPE BIGINT",
			"ALTER TABLE t_sequence ALTER COLUMN increment_val TYPE BIGINT",
		} {
			if db.Name() == "postgres" { // SQLite's columns are wide enough
				run(t, db, widen)
			}
		}
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('long', 1, 2147483649)")
		run(t, db, "INSERT INTO t_sequence VALUES ('long', 1, 2147483649)")
		run(t, db, "INSERT INTO t_sequence VALUES "+
			"('full', ?, 10), ('zero', 1, 0), ('minus', 500, -10), ('below', -100, 10)", int64(math.MaxInt64-15))
		for name, src := range map[string]segment.Source{
			"LeafAlloc": sqlsource.LeafAlloc(db, nil), "Sequence": sqlsource.Sequence(db, nil),
		} {
			for tag, want := range map[string]error{
				"full":  segment.ErrExhausted,
				"zero":  segment.ErrBadRange,
				"minus": segment.ErrBadRange,
				"below": segment.ErrBadRange,
				"long":  segment.ErrBadRange,
			} {
				for range 2 {
					if r, err := src.Fetch(t.Context(), tag, 0); !errors.Is(err, want) {
						t.Errorf("%s: Fetch(%q) = %v, %v, want %v", name, tag, r, err, want)
					}
				}
				if tag == "full" || tag == "below" { // what is wrong with the others is their step
					if r, err := src.Fetch(t.Context(), tag, 200); !errors.Is(err, want) {
						t.Errorf("%s: Fetch(%q) with step 200 = %v, %v, want %v", name, tag, r, err, want)
					}
				}
			}
		}
		if r := segtest.Fetch(t, sqlsource.LeafAlloc(db, nil), "full", 5); r.To != math.MaxInt64 {
			t.Errorf("the last 5 ids are %v, want them to end at 2^63-1", r)
		}
		var kept int64
		unmoved := db.Raw("SELECT COUNT(*) FROM leaf_alloc WHERE biz_tag = 'zero' AND max_id = 1 " +
			"OR biz_tag = 'minus' AND max_id = 500 OR biz_tag = 'below' AND max_id = -100 " +
			"OR biz_tag = 'long' AND max_id = 1")
		if err := unmoved.Row().Scan(&kept); err != nil || kept != 4 {
			t.Errorf("%d of the 4 invalid rows are as they were, %v, want all", kept, err)
		}
	})
}

// TestSequence: blocks have the original's numbers and the length of the stored increment, and the
// statement itself wraps a cyclic counter around.
func TestSequence(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *gorm.DB, db *gorm.DB) {
		run(t, db, "INSERT INTO t_sequence VALUES ('a', 0, 1000), ('end', ?, 1000)", int64(math.MaxInt64-1500))
		nodes := []segment.Source{sqlsource.Sequence(open(t), nil), sqlsource.Sequence(open(t), nil)}
		for i, want := range []string{"[1000, 2000)", "[2000, 3000)", "[3000, 4000)"} {
			if r := segtest.Fetch(t, nodes[i%2], "a", 0); segtest.Bounds(r) != want || r.Step != 1000 {
				t.Errorf("block %d is %v with step %d, want %s", i, r, r.Step, want)
			}
		}
		for i, want := range []string{"[1000, 2000)", "[2000, 3000)"} {
			src := sqlsource.Sequence(open(t), &sqltable.SequenceOptions{Cycle: true})
			if r := segtest.Fetch(t, src, "end", 0); segtest.Bounds(r) != want || !r.Cyclic {
				t.Errorf("block %d after the counter was used up is %v, want %s, cyclic", i, r, want)
			}
		}
	})
}

// TestSetTogether: several processes that make one tag at the same moment all succeed.
func TestSetTogether(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *gorm.DB, _ *gorm.DB) {
		for round := range 5 {
			var wg sync.WaitGroup
			begin := make(chan struct{})
			for range 6 {
				src := sqlsource.LeafAlloc(open(t), nil)
				wg.Go(func() {
					<-begin
					row := segment.Row{Tag: fmt.Sprint("tag", round), Step: 10}
					if err := src.(segment.Setter).Set(t.Context(), row); err != nil {
						t.Errorf("Set = %v", err)
					}
				})
			}
			close(begin)
			wg.Wait()
		}
	})
}

// TestUpdateTime: a fetch moves update_time, as MySQL's column does by itself.
func TestUpdateTime(t *testing.T) {
	each(t, func(t *testing.T, _ func(testing.TB) *gorm.DB, db *gorm.DB) {
		run(t, db, "INSERT INTO leaf_alloc (biz_tag, step, update_time) VALUES ('a', 10, '2001-02-03 04:05:06')")
		segtest.Fetch(t, sqlsource.LeafAlloc(db, nil), "a", 0)
		var old int64
		unmoved := db.Raw("SELECT COUNT(*) FROM leaf_alloc WHERE update_time < '2002-01-01 00:00:00'")
		if err := unmoved.Row().Scan(&old); err != nil || old != 0 {
			t.Errorf("%d rows have the old update_time, %v, want 0", old, err)
		}
	})
}

// TestTicket: the table has one row per stub, and servers whose settings give equal ids are refused.
func TestTicket(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *gorm.DB, db *gorm.DB) {
		src := sqlsource.Ticket([]*gorm.DB{db}, nil)
		for want := int64(1); want <= 5; want++ {
			if r := segtest.Fetch(t, src, "a", 10); r.From != want || r.Len() != 1 {
				t.Errorf("ticket %d is %v, want it to have that number alone", want, r)
			}
		}
		var rows int64
		if err := db.Raw("SELECT COUNT(*) FROM ticket").Row().Scan(&rows); err != nil || rows != 1 {
			t.Errorf("%d rows after 5 tickets, %v, want 1", rows, err)
		}
		two := sqlsource.Ticket([]*gorm.DB{db, open(t)}, nil)
		if err := two.(segment.Checker).Check(t.Context()); !errors.Is(err, sqltable.ErrTicketServer) {
			t.Errorf("Check of two servers that count by 1 = %v, want ErrTicketServer", err)
		}
	})
}

// TestTicketServers: two PostgreSQL databases hand out tickets in turn, each its own.
func TestTicketServers(t *testing.T) {
	t.Parallel()
	dbs := twoTicketServers(t)
	src := sqlsource.Ticket(dbs, nil)
	var got []int64
	for range 6 {
		got = append(got, segtest.Fetch(t, src, "a", 1).From)
	}
	if want := []int64{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("tickets %v, want %v", got, want)
	}
	twice := sqlsource.Ticket([]*gorm.DB{dbs[0], dbs[0]}, nil)
	if err := twice.(segment.Checker).Check(t.Context()); !errors.Is(err, sqltable.ErrTicketServer) {
		t.Errorf("Check of one server twice = %v, want ErrTicketServer", err)
	}
}

// twoTicketServers returns two PostgreSQL databases whose identity columns count by 2, from 1 and from
// 2.
func twoTicketServers(t *testing.T) (dbs []*gorm.DB) {
	t.Helper()
	s := servers.Postgres(t)
	for start := 1; start <= 2; start++ {
		db := open(t, postgres.Open(s.DSN(s.CreateDB(t))))
		if err := sqlsource.Migrate(t.Context(), db, "ticket"); err != nil {
			t.Fatal(err)
		}
		run(t, db, fmt.Sprintf("ALTER TABLE ticket ALTER COLUMN id "+
			"SET INCREMENT BY 2 SET START WITH %d RESTART", start))
		dbs = append(dbs, db)
	}
	return dbs
}
