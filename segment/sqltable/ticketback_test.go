package sqltable_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// testTicketOneBack: a server that lost its last tickets is left out for every tag, and the other one
// goes on. Meanwhile its counter is only read. It is used again once the counter was raised far above
// every id that it gave.
func testTicketOneBack(t *testing.T, servers ...*dbtest.Server) {
	var dbs []*gorm.DB
	for _, s := range servers {
		_, db := ticketDB(t, s)
		dbs = append(dbs, db)
	}
	src := sqlsource.Ticket(dbs, nil)
	g := segtest.New(t, src, nil)
	ids := segtest.Next(t, g, "a", 2000)
	segtest.AwaitQuiet(t, g)
	run(t, dbs[1], "DELETE FROM ticket WHERE id > 0")
	run(t, dbs[1], "ALTER TABLE ticket AUTO_INCREMENT = 2")
	ids = append(ids, segtest.Next(t, g, "a", 3000)...)
	segtest.Distinct(t, ids)

	// A tag that this process has never asked for would repeat the ids of other processes.
	counter := func() int64 {
		return number(t, dbs[1], "SELECT COALESCE(MAX(id), 0) FROM ticket")
	}
	at := counter()
	for range 20 {
		if r := segtest.Fetch(t, src, "b", 10); r.Origin != 0 {
			t.Errorf("Fetch = %v of server %d, want server 0: the other went back", r, r.Origin)
		}
	}
	if now := counter(); now != at {
		t.Errorf("the counter of the server that went back rose from %d to %d while it was left out", at, now)
	}
	err := src.(segment.Checker).Check(t.Context())
	if !errors.Is(err, segment.ErrRangeWentBack) || !strings.Contains(err.Error(), "ticket server 1") {
		t.Errorf("Check = %v, want ErrRangeWentBack of server 1", err)
	}
	run(t, dbs[1], "ALTER TABLE ticket AUTO_INCREMENT = 3000000")
	if err := src.(segment.Checker).Check(t.Context()); err != nil {
		t.Errorf("Check after the counter was raised = %v", err)
	}
	origins := map[int]int{}
	for range 4 {
		origins[segtest.Fetch(t, src, "b", 10).Origin]++
	}
	if origins[1] == 0 {
		t.Errorf("fetches by server = %v after the counter of server 1 was raised, want both", origins)
	}
}
