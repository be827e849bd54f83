package tickets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/internal/ticketplan"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// open opens a new pool on a MySQL data source.
func open(t *testing.T, dsn string) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(mysql.Open(dsn), &gorm.Config{Logger: logger.Discard})
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

// created creates a database with the table on a server. It returns its DSN and a pool.
func created(t *testing.T, s *dbtest.Server) (string, *gorm.DB) {
	t.Helper()
	dsn := s.DSN(s.CreateDB(t))
	db := open(t, dsn)
	if err := sqlsource.Migrate(t.Context(), db, "ticket"); err != nil {
		t.Fatal(err)
	}
	return dsn, db
}

// databases creates n databases with the table on the shared server. All tests share the server's
// settings, so no plan may be carried out there.
func databases(t *testing.T, n int) (dbs []*gorm.DB) {
	t.Helper()
	for range n {
		_, db := created(t, servers.MariaDB(t))
		dbs = append(dbs, db)
	}
	return dbs
}

// run executes a statement.
func run(t *testing.T, db *gorm.DB, statement string) {
	t.Helper()
	if err := db.Exec(statement).Error; err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// number returns the only value in the result of a query.
func number(t *testing.T, db *gorm.DB, query string) (n int64) {
	t.Helper()
	if err := db.Raw(query).Row().Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// set returns the set of the servers.
func set(t *testing.T, dbs []*gorm.DB) *Set {
	t.Helper()
	s, err := New(dbs, 0)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// planTables is Plan for tables that may be on one server.
func planTables(t *testing.T, dbs []*gorm.DB, step int64) ([]Work, error) {
	t.Helper()
	s, err := New(dbs, step)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.expansion(t.Context())
	if err != nil {
		return nil, err
	}
	return e.work(), nil
}

// tickets fetches n ids one by one.
func tickets(t *testing.T, src segment.Source, n int) (ids []int64) {
	t.Helper()
	for range n {
		ids = append(ids, segtest.Fetch(t, src, "a", 1).From)
	}
	return ids
}

// TestRefused: a step out of range, a database that is none, one of another kind, and a ctx that has
// ended.
func TestRefused(t *testing.T) {
	t.Parallel()
	dbs := databases(t, 2)
	for _, step := range []int64{-1, 1, 65536} {
		if _, err := New(dbs, step); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("New with step %d = %v, want ErrOptions", step, err)
		}
	}
	for name, db := range map[string]*gorm.DB{"nil": nil, "empty": {}} {
		if _, err := New([]*gorm.DB{db}, 0); err == nil {
			t.Errorf("New of a database that is %s returns no error", name)
		}
	}
	file, err := gorm.Open(sqlite.Open("file::memory:"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := set(t, []*gorm.DB{file}).Plan(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("Plan on SQLite = %v, want errors.ErrUnsupported", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := set(t, dbs).Plan(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Plan with a cancelled ctx = %v, want context.Canceled", err)
	}
}

// TestTicketServers runs the tests that need their own servers, on three of them: step 2 and offset 1, 2 and
// 1. They run one after the other, because they change the servers' settings.
func TestTicketServers(t *testing.T) {
	t.Parallel()
	var s [3]*dbtest.Server
	for i, offset := range []int{1, 2, 1} {
		s[i] = dbtest.MariaDB(t, "--auto-increment-increment=2", fmt.Sprint("--auto-increment-offset=", offset))
	}
	t.Run("Twice", func(t *testing.T) { testTicketTwice(t, s[0], s[1]) })
	t.Run("Expansion", func(t *testing.T) { testTicketExpansion(t, s[:]...) })
}

// testTicketTwice: a server that is named twice, under two addresses or with two databases, is refused
// before anything is written.
func testTicketTwice(t *testing.T, a, b *dbtest.Server) {
	dsn, db := created(t, a)
	_, second := created(t, a)
	_, other := created(t, b)
	alias := open(t, strings.Replace(dsn, "127.0.0.1", "localhost", 1))
	for name, dbs := range map[string][]*gorm.DB{
		"two addresses": {other, db, alias}, "two databases": {db, other, second}, "one pool": {db, db},
	} {
		_, err := set(t, dbs).Expand(t.Context())
		if !errors.Is(err, segment.ErrOptions) || !strings.Contains(fmt.Sprint(err), "are one server") {
			t.Errorf("%s: Expand = %v, want ErrOptions", name, err)
		}
		if _, err := set(t, dbs).Plan(t.Context()); !errors.Is(err, segment.ErrOptions) {
			t.Errorf("%s: Plan = %v, want ErrOptions", name, err)
		}
	}
	if n := number(t, db, "SELECT COUNT(*) FROM ticket"); n != 0 {
		t.Errorf("%d rows after servers were refused, want none", n)
	}
}

// testTicketExpansion: node 1 counts by 2 from 1. When it is at 7, node 2 joins at 14 and gives even
// ids. Then a third node joins. After every statement, programs with the old list and with the new
// one take tickets. No id is given twice, although the servers then count on from their highest
// rows, as old servers do after a restart.
func testTicketExpansion(t *testing.T, servers ...*dbtest.Server) {
	var dbs []*gorm.DB
	for _, s := range servers {
		_, db := created(t, s)
		dbs = append(dbs, db)
	}
	dbs, all := dbs[:2:2], dbs
	alone := sqlsource.Ticket(dbs[:1], &sqltable.TicketOptions{Step: 2})
	ids := tickets(t, alone, 4) // 1, 3, 5, 7
	run(t, dbs[1], "ALTER TABLE ticket AUTO_INCREMENT = 14")
	second := tickets(t, sqlsource.Ticket(dbs[1:], &sqltable.TicketOptions{Step: 2}), 2)
	if want := []int64{14, 16}; !slices.Equal(second, want) || ids[3] != 7 {
		t.Errorf("node 1 is at %d and node 2 gives %v, want 7 and %v", ids[3], second, want)
	}
	ids = append(ids, second...)

	before, after := sqlsource.Ticket(dbs, nil), sqlsource.Ticket(all, nil)
	if err := after.(segment.Checker).Check(t.Context()); !errors.Is(err, sqltable.ErrTicketServer) {
		t.Errorf("Check of the new list before there is a plan = %v, want ErrTicketServer", err)
	}
	dry, err := set(t, all).Plan(t.Context())
	if err != nil {
		t.Fatalf("Plan: %v", err)
	}
	start := dry[0].Plan.Start
	statements := 0
	plans, err := set(t, all).expand(t.Context(), func(i int, statement string) error {
		statements++
		if strings.HasPrefix(statement, "LOCK") || strings.HasPrefix(statement, "REPLACE") {
			return nil // a program would wait for the lock of the table
		}
		for range 2 { // one id from each server
			ids = append(ids, segtest.Fetch(t, before, "a", 1).From)
		}
		if r, err := after.Fetch(t.Context(), "a", 1); err == nil {
			if ids = append(ids, r.From); r.From < start {
				t.Errorf("after %q on server %d the new list gives %d, want at least %d", statement, i, r.From, start)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("Expand: %v", err)
	}
	for i, p := range plans {
		want := ticketplan.Plan{Step: 3, Offset: int64(i + 1), Start: start}
		if p.Plan != want || start < 1_000_000 || start%3 != 0 {
			t.Errorf("plan %d is %+v, want step 3, offset %d, and a start above 1,000,000 for all", i, p, i+1)
		}
		if got, want := len(p.Announce)+len(p.Change), statements/3; got != want {
			t.Errorf("plan %d has %d statements, want the %d that were run", i, got, want)
		}
		// Moves the counter back to the highest row, as the restart of an old server does.
		run(t, all[i], "ALTER TABLE ticket AUTO_INCREMENT = 1")
	}
	left, err := set(t, all).Plan(t.Context())
	if err != nil || len(left[0].Announce)+len(left[0].Change) > 0 || left[0].Plan.Start != start {
		t.Errorf("Plan after the plan was carried out = %+v, %v, want nothing left", left, err)
	}
	for _, src := range []segment.Source{before, after} {
		if err := src.(segment.Checker).Check(t.Context()); err != nil {
			t.Errorf("Check after the change = %v", err)
		}
		for _, id := range tickets(t, src, 6) {
			if id < start {
				t.Errorf("a ticket after the change is %d, want %d or more", id, start)
			}
			ids = append(ids, id)
		}
	}
	segtest.Distinct(t, ids)
}
