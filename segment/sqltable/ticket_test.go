package sqltable_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestTicketServers runs the tests that need their own servers, on three of them: step 2 and offset 1,
// 2 and 0. They run one after the other, because they change the servers' settings.
func TestTicketServers(t *testing.T) {
	t.Parallel()
	var s [3]*dbtest.Server
	for i, offset := range []int{1, 2, 0} {
		s[i] = dbtest.MariaDB(t, "--auto-increment-increment=2", fmt.Sprint("--auto-increment-offset=", offset))
	}
	t.Run("Settings", func(t *testing.T) { testTicketSettings(t, s[2]) })
	t.Run("Offset", func(t *testing.T) { testTicketOffset(t, s[2]) })
	t.Run("Exhausted", func(t *testing.T) { testTicketExhausted(t, s[:2]...) })
	t.Run("OneBack", func(t *testing.T) { testTicketOneBack(t, s[:2]...) })
	t.Run("TwoServers", func(t *testing.T) { testTicketTwoServers(t, s[0], s[1]) })
	t.Run("Unbounded", func(t *testing.T) { testTicketUnbounded(t, s[:]...) })
}

// ticketDB creates a database with the table on a server. It returns its DSN and a pool.
func ticketDB(t *testing.T, s *dbtest.Server) (string, *gorm.DB) {
	t.Helper()
	dsn := s.DSN(s.CreateDB(t))
	db := open(t, dsn)
	if err := sqlsource.Migrate(t.Context(), db, "ticket"); err != nil {
		t.Fatal(err)
	}
	return dsn, db
}

// classicTable creates the table of the article on ticket servers.
const classicTable = "CREATE TABLE T_TEST (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY," +
	" value CHAR(1) NOT NULL, UNIQUE KEY (value))"

// tickets fetches n ids one by one.
func tickets(t *testing.T, src segment.Source, n int) []int64 {
	t.Helper()
	var ids []int64
	for range n {
		r := segtest.Fetch(t, src, "a", 1)
		if r.Len() != 1 {
			t.Errorf("Fetch(step 1) = %v, want one id", r)
		}
		ids = append(ids, r.From)
	}
	return ids
}

// TestTicketOneServer: the classic statements give 1, 2, 3, 4 and leave one row. So does a Ticket, on
// its own table, and a batch leaves as many rows as it has ids.
func TestTicketOneServer(t *testing.T) {
	t.Parallel()
	dsn, db := database(t)
	run(t, db, classicTable)
	err := db.Connection(func(tx *gorm.DB) error { // LAST_INSERT_ID belongs to the connection
		for want := int64(1); want <= 4; want++ {
			res := tx.Exec("REPLACE INTO T_TEST (value) VALUES ('b')")
			if res.Error != nil {
				return res.Error
			}
			if affected := min(want, 2); res.RowsAffected != affected {
				t.Errorf("REPLACE number %d affected %d rows, want %d: a delete and an insert",
					want, res.RowsAffected, affected)
			}
			if got := number(t, tx, "SELECT LAST_INSERT_ID()"); got != want {
				t.Errorf("LAST_INSERT_ID() = %d, want %d", got, want)
			}
		}
		if got := number(t, tx, "SELECT LAST_INSERT_ID(42)"); got != 42 {
			t.Errorf("LAST_INSERT_ID(42) = %d, want 42", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := number(t, open(t, dsn), "SELECT LAST_INSERT_ID()"); got != 0 {
		t.Errorf("LAST_INSERT_ID() on another connection = %d, want 0", got)
	}

	src := sqlsource.Ticket([]*gorm.DB{db}, nil)
	if got, want := tickets(t, src, 5), []int64{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("tickets %v, want %v", got, want)
	}
	if got := number(t, db, "SELECT COUNT(*) FROM ticket"); got != 2 {
		t.Errorf("%d rows after 5 tickets, want 1 and the one with the server's settings", got)
	}
	segtest.Fetch(t, src, "a", 1000) // gets Batch ids, 100
	segtest.Fetch(t, src, "a", 1000)
	if got := number(t, db, "SELECT COUNT(*) FROM ticket"); got != 101 {
		t.Errorf("%d rows after two batches of 100, want 100 and the one with the server's settings", got)
	}
}

// TestTicketPool: with a pool of connections and many goroutines, each fetch gets the ids of its own
// REPLACE. A separate SELECT LAST_INSERT_ID() may run on another connection and return the id of an
// insert there.
func TestTicketPool(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, classicTable)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	one, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := one.ExecContext(t.Context(), "REPLACE INTO T_TEST (value) VALUES ('b')"); err != nil {
		t.Fatal(err)
	}
	// The first connection is in use, so this statement runs on another one.
	if got := number(t, db, "SELECT LAST_INSERT_ID()"); got != 0 {
		t.Errorf("LAST_INSERT_ID() through the pool = %d, want 0", got)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}

	src := sqlsource.Ticket([]*gorm.DB{db}, nil)
	var (
		mu  sync.Mutex
		wg  sync.WaitGroup
		ids []int64
	)
	for i := range 8 {
		wg.Go(func() {
			for range 50 {
				r, err := src.Fetch(t.Context(), fmt.Sprint("tag", i%3), 3)
				if err != nil {
					t.Errorf("Fetch: %v", err)
					return
				}
				mu.Lock()
				ids = append(ids, r.From, r.From+1, r.From+2)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	segtest.Distinct(t, ids)
	if len(ids) != 8*50*3 {
		t.Errorf("%d ids, want %d", len(ids), 8*50*3)
	}
}

// TestTicketNoUniqueKey: without a unique key on stub REPLACE only inserts: it affects 1 row each time
// and leaves 4 rows after 4 calls. Such a table is refused.
func TestTicketNoUniqueKey(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "CREATE TABLE bare (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, stub VARCHAR(64) NOT NULL,"+
		" KEY (stub), UNIQUE KEY (stub, id))")
	for range 4 {
		if n := db.Exec("REPLACE INTO bare (stub) VALUES ('a')").RowsAffected; n != 1 {
			t.Errorf("REPLACE without a unique key affected %d rows, want 1", n)
		}
	}
	if n := number(t, db, "SELECT COUNT(*) FROM bare"); n != 4 {
		t.Errorf("%d rows after 4 REPLACEs without a unique key, want 4", n)
	}
	run(t, db, "CREATE TABLE counterless (id BIGINT NOT NULL PRIMARY KEY, stub VARCHAR(64) NOT NULL UNIQUE)")
	for table, want := range map[string]string{
		"bare": "no UNIQUE key on stub", "counterless": "no AUTO_INCREMENT column",
	} {
		src := sqlsource.Ticket([]*gorm.DB{db}, &sqltable.TicketOptions{Table: table})
		_, err := segment.New(t.Context(), src, nil)
		if !errors.Is(err, sqltable.ErrTicketServer) || !strings.Contains(err.Error(), want) {
			t.Errorf("New over table %s = %v, want ErrTicketServer with %q", table, err, want)
		}
		if _, err := src.Fetch(t.Context(), "a", 1); !errors.Is(err, sqltable.ErrTicketServer) {
			t.Errorf("Fetch from table %s = %v, want ErrTicketServer", table, err)
		}
	}
}

// testTicketTwoServers: node 1 gives 1, 3, 5, 7, 9, 11 and node 2 gives 2, 4, 6, 8, 10. Ids of one
// node rise; those of both are only roughly increasing. A node that is away is skipped, and is used
// again when it is back.
func testTicketTwoServers(t *testing.T, servers ...*dbtest.Server) {
	var dbs []*gorm.DB
	for _, s := range servers {
		_, db := ticketDB(t, s)
		dbs = append(dbs, db)
	}
	for i, want := range [][]int64{{1, 3, 5, 7, 9, 11}, {2, 4, 6, 8, 10}} {
		alone := sqlsource.Ticket(dbs[i:i+1], &sqltable.TicketOptions{Step: 2})
		if got := tickets(t, alone, len(want)); !slices.Equal(got, want) {
			t.Errorf("node %d gives %v, want %v", i+1, got, want)
		}
	}
	both := sqlsource.Ticket(dbs, nil)
	if err := both.(segment.Checker).Check(t.Context()); err != nil {
		t.Fatalf("Check: %v", err)
	}
	if got, want := tickets(t, both, 4), []int64{13, 12, 15, 14}; !slices.Equal(got, want) {
		t.Errorf("both nodes in turn give %v, want %v", got, want)
	}
	if r := segtest.Fetch(t, both, "a", 10); r.From != 17 || r.To != 17+9*2+1 || r.Stride != 2 || r.Len() != 10 {
		t.Errorf("a batch of 10 is %v, want 10 ids from 17 on by 2", r)
	}

	if err := servers[1].Kill(); err != nil {
		t.Fatal(err)
	}
	for i, id := range tickets(t, both, 4) {
		if id%2 != 1 {
			t.Errorf("ticket %d while node 2 is down is %d, want an odd one", i+1, id)
		}
	}
	if err := both.(segment.Checker).Check(t.Context()); err != nil {
		t.Errorf("Check with one node down = %v, want nil", err)
	}
	if err := servers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	r, err := both.Fetch(t.Context(), "a", 1)
	if err == nil || !strings.Contains(err.Error(), "server 0") || !strings.Contains(err.Error(), "server 1") {
		t.Errorf("Fetch with both nodes down = %v, %v, want an error about each", r, err)
	}
	if strings.Contains(fmt.Sprint(both.(segment.Checker).Check(t.Context())), dbtest.Password) {
		t.Error("the error of Check shows the password")
	}
	if err := servers[1].Start(); err != nil {
		t.Fatal(err)
	}
	if ids := tickets(t, both, 1); ids[0]%2 != 0 || ids[0] <= 14 {
		t.Errorf("the ticket after node 2 came back is %d, want an even one above 14", ids[0])
	}
	if err := servers[0].Start(); err != nil {
		t.Fatal(err)
	}
}

// testTicketSettings: an article on ticket servers proposes the offsets 0 to N-1. A server stores an
// offset of 0 as 1, and ignores one above the increment. Both are refused, and so are two servers
// with one offset, and a change of the settings while the Ticket is in use.
func testTicketSettings(t *testing.T, s *dbtest.Server) {
	dsn, db := ticketDB(t, s)
	if got := number(t, db, "SELECT @@global.auto_increment_offset"); got != 1 {
		t.Errorf("offset 0 is stored as %d, want 1", got)
	}
	admin := open(t, s.DSN(""))
	set := func(increment, offset int) *gorm.DB { // returns a pool whose sessions have the settings
		run(t, admin, fmt.Sprint("SET GLOBAL auto_increment_increment = ", increment))
		run(t, admin, fmt.Sprint("SET GLOBAL auto_increment_offset = ", offset))
		return open(t, dsn)
	}
	odd := set(2, 5)
	run(t, odd, "REPLACE INTO ticket (stub) VALUES ('x')")
	if id := number(t, odd, "SELECT MAX(id) FROM ticket"); id%2 != 1 {
		t.Errorf("increment 2 and offset 5 give %d, want an odd id", id)
	}
	for _, tt := range []struct {
		increment, offset int
		step              int64
		want              string
	}{
		{2, 5, 2, "auto_increment_offset is 5, want 1..2"},
		{3, 1, 2, "auto_increment_increment is 3, want 2"},
		{1, 1, 2, "auto_increment_increment is 1, want 2"},
	} {
		src := sqlsource.Ticket([]*gorm.DB{set(tt.increment, tt.offset)}, &sqltable.TicketOptions{Step: tt.step})
		err := src.(segment.Checker).Check(t.Context())
		if !errors.Is(err, sqltable.ErrTicketServer) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Check = %v, want ErrTicketServer with %q", err, tt.want)
		}
		if _, err := src.Fetch(t.Context(), "a", 1); !errors.Is(err, sqltable.ErrTicketServer) {
			t.Errorf("Fetch = %v, want ErrTicketServer", err)
		}
	}
	db = set(2, 1)
	twice := sqlsource.Ticket([]*gorm.DB{db, db}, nil)
	err := twice.(segment.Checker).Check(t.Context())
	if !errors.Is(err, sqltable.ErrTicketServer) || !strings.Contains(err.Error(), "which server 0 has") {
		t.Errorf("Check of two servers with one offset = %v, want ErrTicketServer", err)
	}

	// A session that began before the change keeps counting by the old settings.
	src := sqlsource.Ticket([]*gorm.DB{db}, &sqltable.TicketOptions{Step: 2})
	segtest.Fetch(t, src, "a", 5)
	set(3, 1)
	if r, err := src.Fetch(t.Context(), "a", 5); !errors.Is(err, sqltable.ErrTicketServer) {
		t.Errorf("Fetch after the server's settings changed = %v, %v, want ErrTicketServer", r, err)
	}
}

// TestTicketWentBack: the ids of a server that has lost its last tickets are refused.
func TestTicketWentBack(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	g := segtest.New(t, sqlsource.Ticket([]*gorm.DB{db}, nil), nil)
	segtest.Next(t, g, "a", 50)
	segtest.AwaitQuiet(t, g)
	run(t, db, "TRUNCATE TABLE ticket")
	run(t, db, "REPLACE INTO ticket (stub) VALUES ('classic')")
	if id := number(t, db, "SELECT id FROM ticket"); id != 1 {
		t.Errorf("the classic statements give %d, want 1 again", id)
	}
	if err := refuses(t, g, "a"); !errors.Is(err, segment.ErrRangeWentBack) {
		t.Errorf("Next = %v, want ErrRangeWentBack", err)
	}
}

// testTicketUnbounded: what the bound at the start of a plan is good for. A third server has joined,
// and an old one restarts with its old settings, which its configuration still has. Programs with the
// bound get no id twice, because they leave that server out. Programs that trust the settings get ids
// from it that the other servers have given.
func testTicketUnbounded(t *testing.T, servers ...*dbtest.Server) {
	var dsns []string
	for _, s := range servers {
		dsn, _ := ticketDB(t, s)
		dsns = append(dsns, dsn)
	}
	pools := func() (all []*gorm.DB) {
		for _, dsn := range dsns {
			all = append(all, open(t, dsn))
		}
		return all
	}
	segtest.Fetch(t, sqlsource.Ticket(pools()[:2], nil), "a", 10)
	for i, db := range pools() { // as uid segment expand does
		for _, statement := range []string{
			fmt.Sprintf("REPLACE INTO ticket (id, stub) VALUES (%d, 'uid-ticket-plan 3/%d/3000000')", 3000001+i, i+1),
			fmt.Sprint("SET GLOBAL auto_increment_offset = ", i+1), "SET GLOBAL auto_increment_increment = 3",
		} {
			run(t, db, statement)
		}
	}
	all := pools()
	for _, id := range tickets(t, sqlsource.Ticket(all, nil), 3) {
		if id < 3_000_000 {
			t.Errorf("a ticket by the plan is %d, want 3,000,000 or more", id)
		}
	}
	if err := servers[0].Kill(); err != nil {
		t.Fatal(err)
	}
	if err := servers[0].Start(); err != nil {
		t.Fatal(err)
	}
	take := func(programs ...segment.Source) (ids []int64) {
		for range 100 {
			for _, src := range programs {
				ids = append(ids, segtest.Fetch(t, src, "a", 1).From)
			}
		}
		return ids
	}
	bounded := take(sqlsource.Ticket(all[:2], nil), sqlsource.Ticket(all, nil))
	segtest.Distinct(t, bounded)
	unbounded := take(unbounded(all[:2]), unbounded(all))
	twice := slices.DeleteFunc(unbounded, func(id int64) bool { return !slices.Contains(bounded, id) })
	if t.Logf("%d of 200 ids were repeated without the bound", len(twice)); len(twice) == 0 {
		t.Error("no id was repeated without the bound, so this test and that of the restarts show nothing")
	}
}
