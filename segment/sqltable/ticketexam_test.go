package sqltable_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
	"github.com/uidring/uidring/segment/sqltable"
)

// TestTicketTable: the counter has to be a BIGINT, because at the end of a narrower one a REPLACE may
// get the last id again. The table may be in another schema.
func TestTicketTable(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	run(t, db, "CREATE TABLE narrow (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, stub VARCHAR(64) NOT NULL UNIQUE)")
	src := sqlsource.Ticket([]*gorm.DB{db}, &sqltable.TicketOptions{Table: "narrow"})
	err := src.(segment.Checker).Check(t.Context())
	if !errors.Is(err, sqltable.ErrTicketServer) || !strings.Contains(err.Error(), "of type BIGINT") {
		t.Errorf("Check with an INT = %v, want ErrTicketServer that says BIGINT", err)
	}

	_, other := database(t)
	var name string
	if err := other.Raw("SELECT DATABASE()").Row().Scan(&name); err != nil {
		t.Fatal(err)
	}
	src = sqlsource.Ticket([]*gorm.DB{db}, &sqltable.TicketOptions{Table: name + ".ticket"})
	if err := src.(segment.Checker).Check(t.Context()); err != nil {
		t.Errorf("Check of another schema's table = %v", err)
	}
	segtest.Fetch(t, src, "a", 7)
	if got := number(t, other, "SELECT COUNT(*) FROM ticket"); got != 8 {
		t.Errorf("%d rows in the other schema's table, want 7 and the one with the server's settings", got)
	}
}

// TestTicketAskedOnce: a fetch asks each server at most once, so a single server that hangs costs one
// Timeout.
func TestTicketAskedOnce(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	src := sqlsource.Ticket([]*gorm.DB{db}, nil)
	run(t, db, "ALTER TABLE ticket RENAME TO elsewhere")
	for range 3 { // after the first time the server has failed recently
		if err := fetchErr(t, src, "a", 1); strings.Count(fmt.Sprint(err), "server 0") != 1 {
			t.Errorf("Fetch = %v, want one failure of server 0", err)
		}
	}
	run(t, db, "ALTER TABLE elsewhere RENAME TO ticket")
	segtest.Fetch(t, src, "a", 1)
}

// testTicketExhausted: a server whose counter is at its end is ErrExhausted, unless another server is
// away and may still have ids.
func testTicketExhausted(t *testing.T, s ...*dbtest.Server) {
	var dbs []*gorm.DB
	for i, s := range s {
		_, db := ticketDB(t, s)
		run(t, db, fmt.Sprint("ALTER TABLE ticket AUTO_INCREMENT = ", int64(math.MaxInt64-4)+int64(i)))
		dbs = append(dbs, db)
	}
	src := sqlsource.Ticket(dbs, nil)
	for i, s := range s {
		alone := sqlsource.Ticket(dbs[i:i+1], &sqltable.TicketOptions{Step: 2})
		for range 3 { // first the batch does not fit, and in the end the server has no id
			if r, err := alone.Fetch(t.Context(), "a", 10); !errors.Is(err, segment.ErrExhausted) {
				t.Errorf("Fetch of 10 at the end of the counter = %v, %v, want ErrExhausted", r, err)
			}
		}
		for n := 0; ; n++ {
			r, err := alone.Fetch(t.Context(), "a", 1)
			if errors.Is(err, segment.ErrExhausted) {
				break
			}
			if err != nil || r.From > math.MaxInt64-2 || n > 3 {
				t.Fatalf("Fetch number %d at the end of the counter = %v, %v, want ErrExhausted", n, r, err)
			}
		}
		if err := fetchErr(t, alone, "a", 1); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Fetch after the end of the counter = %v, want ErrExhausted", err)
		}
		if i == 0 {
			continue
		}
		if err := fetchErr(t, src, "a", 1); !errors.Is(err, segment.ErrExhausted) {
			t.Errorf("Fetch with both servers used up = %v, want ErrExhausted", err)
		}
		if err := s.Kill(); err != nil {
			t.Fatal(err)
		}
		err := fetchErr(t, src, "a", 1)
		if err == nil || errors.Is(err, segment.ErrExhausted) || !strings.Contains(err.Error(), "counter exhausted") {
			t.Errorf("Fetch with one server used up and the other away = %v, want the text and not the sentinel", err)
		}
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// testTicketOffset: a change of the offset while no session is open is detected by the settings that
// the table keeps.
func testTicketOffset(t *testing.T, s *dbtest.Server) {
	dsn, _ := ticketDB(t, s)
	admin := open(t, s.DSN(""))
	run(t, admin, "SET GLOBAL auto_increment_increment = 2")
	run(t, admin, "SET GLOBAL auto_increment_offset = 1")
	db := open(t, dsn)
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxIdleConns(-1) // each fetch has a new session
	src := sqlsource.Ticket([]*gorm.DB{db}, &sqltable.TicketOptions{Step: 2, Timeout: time.Minute})
	segtest.Fetch(t, src, "a", 5)
	run(t, admin, "SET GLOBAL auto_increment_offset = 2")
	for range 2 { // the second time the server is examined first
		r, err := src.Fetch(t.Context(), "a", 5)
		if !errors.Is(err, sqltable.ErrTicketServer) ||
			!strings.Contains(err.Error(), "want 2 from 1 as in the table") {
			t.Errorf("Fetch after the offset was changed = %v, %v, want ErrTicketServer", r, err)
		}
	}
	run(t, db, "DELETE FROM ticket WHERE id = 0")
	if r := segtest.Fetch(t, src, "a", 5); r.From%2 != 0 { // no other server has the offset
		t.Errorf("the range after the old offset was deleted is %v, want even ids", r)
	}
}

func TestTicketOptions(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	one := []*gorm.DB{db}
	for want, o := range map[string]*sqltable.TicketOptions{
		"Step is -1":     {Step: -1},
		"Step is 65536":  {Step: 65536},
		"Batch is 1001":  {Batch: 1001},
		"Batch is -1":    {Batch: -1},
		"Timeout is -1s": {Timeout: -1e9},
	} {
		_, err := sqlsource.Ticket(one, o).Fetch(t.Context(), "a", 1)
		if !errors.Is(err, segment.ErrOptions) || !strings.Contains(err.Error(), want) {
			t.Errorf("Fetch = %v, want ErrOptions with %q", err, want)
		}
	}
}

// TestTicketPlanTags: a tag that would look like a plan is refused.
func TestTicketPlanTags(t *testing.T) {
	t.Parallel()
	_, db := database(t)
	src := sqlsource.Ticket([]*gorm.DB{db}, nil)
	for _, tag := range []string{"uid-ticket-plan", "uid-ticket-plan 1/1/5", "UID-Ticket-Plan 1/1/5"} {
		if r, err := src.Fetch(t.Context(), tag, 1); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Fetch(%q) = %v, %v, want ErrUnknownTag", tag, r, err)
		}
	}
}
