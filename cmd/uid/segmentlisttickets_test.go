package main

import (
	"strings"
	"testing"

	"github.com/uidring/uidring/internal/dbtest"
)

// TestSegmentListTickets: the rows of tickets are listed and marked as those of other tables, without the
// row of a plan.
func TestSegmentListTickets(t *testing.T) {
	t.Parallel()
	two := dbtest.MariaDB(t, "--auto-increment-increment=2")
	for name, s := range map[string]*dbtest.Server{"MariaDB": two, "PostgreSQL": servers.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, db := newBench(t), s.CreateDB(t)
			b.env["UID_DSN"] = s.DSN(db)
			list := func(want, not string) {
				t.Helper()
				r := b.check(t, exitOK, "", "", "segment", "list", "--source", "ticket")
				got := strings.Join(strings.Fields(r.stdout), " ")
				if !strings.Contains(got, want) || not != "" && strings.Contains(got, not) {
					t.Errorf("the list is\n%s\nwant %q and not %q", r.stdout, want, not)
				}
			}
			b.check(t, exitFailure, "", "uid segment init", "segment", "list", "--source", "ticket")
			b.check(t, exitOK, "", "", "segment", "init")
			list("no tags; the first request", "")
			step := map[string]string{"MariaDB": "2", "PostgreSQL": "1"}[name]
			s.Query(t, db, "INSERT INTO ticket (id, stub) VALUES (7, 'good'), (-7, 'minus'), "+
				"(5, 'uid-ticket-plan 2/1/0')")
			list("good 8 "+step+" 9223372036854775799", "plan")
			list("minus -7 "+step+" 9223372036854775807 <- next is -7, want 0 or more", "good 8 <-")
			s.Query(t, db, "INSERT INTO ticket (id, stub) VALUES (9223372036854775807, 'full')")
			list("full 9223372036854775807 "+step+" 0 <- no range left", "")
			b.check(t, exitOK, `"problem":"no range left"`, "", "segment", "list", "--source", "ticket", "--json")
			b.check(t, exitUsage, "", "--pace is not for", "segment", "list", "--source", "ticket", "--pace", "1s")
		})
	}
}
