package sqlsource_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/segtest"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
	"github.com/uidring/uidring/segment/sqlsource"
)

// ticketTables creates n databases with the table on the shared server. All tests share the server's
// settings, so no plan may be carried out there.
func ticketTables(t *testing.T, n int) (dbs []*gorm.DB) {
	t.Helper()
	for range n {
		_, db := database(t)
		dbs = append(dbs, db)
	}
	return dbs
}

// TestTicketPlanStart: a plan starts above the ids of every server, those of deleted rows included, and
// above an older plan.
func TestTicketPlanStart(t *testing.T) {
	t.Parallel()
	dbs := ticketTables(t, 2)
	src := sqlsource.Ticket(dbs[:1], nil)
	segtest.Fetch(t, src, "a", 1)
	var last segment.Range
	for range 10 {
		last = segtest.Fetch(t, src, "old", 100)
	}
	run(t, dbs[0], "DELETE FROM ticket WHERE stub LIKE 'old%'")
	plans, err := sqlsource.PlanTickets(t.Context(), dbs, nil)
	if err != nil || plans[1].Start < last.To+1_000_000 {
		t.Errorf("the plan after rows up to %d were deleted is %+v, %v, want it to start 1,000,000 above",
			last.To-1, plans, err)
	}
	run(t, dbs[1], "REPLACE INTO ticket (id, stub) VALUES (5000007, 'uid-ticket-plan 7/2/5000000')")
	plans, err = sqlsource.PlanTickets(t.Context(), dbs, nil)
	if err != nil || plans[0].Start < 6_000_000 {
		t.Errorf("the plan after one that starts at 5,000,000 is %+v, %v, want it to start 1,000,000 above", plans, err)
	}
}

// TestTicketPlans: an unfinished plan is continued. A plan that would repeat ids is refused.
func TestTicketPlans(t *testing.T) {
	t.Parallel()
	const start = 3_000_000
	announced := func(step, offset, start int) string {
		return fmt.Sprintf("REPLACE INTO ticket (stub) VALUES ('uid-ticket-plan %d/%d/%d')", step, offset, start)
	}
	moved := func(step, offset, start int) string {
		return fmt.Sprintf("REPLACE INTO ticket (id, stub) VALUES (%d, 'uid-ticket-plan %d/%d/%d')",
			start+offset, step, offset, start)
	}
	const none = "DO 0"
	high := fmt.Sprintf("REPLACE INTO ticket (id, stub) VALUES (%d, 'a')", start+100)
	for _, tt := range []struct {
		name   string
		tables [3]string
		want   string // part of the error; empty: no error, and start is wanted
		start  int64  // 0: a new start
	}{
		{"none", [3]string{none, none, none}, "", 0},
		{"announced on the last", [3]string{none, none, announced(3, 3, start)}, "", start},
		{"announced on all", [3]string{
			announced(3, 1, start), announced(3, 2, start), announced(3, 3, start),
		}, "", start},
		{"moved on one", [3]string{announced(3, 1, start), announced(3, 2, start), moved(3, 3, start)}, "", start},
		{"too late on the first", [3]string{high, announced(3, 2, start), announced(3, 3, start)}, "", 0},
		{"older set", [3]string{moved(2, 1, start), moved(2, 2, start), none}, "", 0},
		{"older set, and announced again", [3]string{
			moved(2, 1, start), moved(2, 2, start), announced(3, 3, 2*start),
		}, "", 2 * start},
		{"another place", [3]string{announced(3, 2, start), none, announced(3, 3, start)}, "server 0 has offset 2", 0},
		{"unfinished set", [3]string{announced(2, 1, start), announced(2, 2, start), none},
			"server 0 has a plan for step 2 that is not carried out", 0},
		{"replaced server", [3]string{moved(3, 1, start), none, moved(3, 3, start)}, "server 1 is not among them", 0},
		{"another last server", [3]string{announced(3, 1, start), announced(3, 2, start), none},
			"server 2 is not among them", 0},
		{"two plans", [3]string{moved(3, 1, start), announced(3, 2, 2*start), announced(3, 3, start)},
			"want one plan", 0},
		{"an invalid row", [3]string{"REPLACE INTO ticket (stub) VALUES ('uid-ticket-plan 3/x')", none, none},
			"is no plan", 0},
	} {
		dbs := ticketTables(t, 3)
		for i, statement := range tt.tables {
			run(t, dbs[i], statement)
		}
		plans, err := sqlsource.PlanTickets(t.Context(), dbs, nil)
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: PlanTickets = %+v, %v, want an error with %q", tt.name, plans, err, tt.want)
		case tt.want == "" && (err != nil || tt.start > 0 && plans[0].Start != tt.start ||
			tt.start == 0 && plans[0].Start <= start+1_000_000 && tt.name != "none"):
			t.Errorf("%s: PlanTickets = %+v, %v, want it to start at %d, or at a new start if that is 0",
				tt.name, plans, err, tt.start)
		}
	}
}

// TestTicketExpandTogether: of two concurrent calls with different plans, each stops if the other has
// changed a table since it read the table.
func TestTicketExpandTogether(t *testing.T) {
	t.Parallel()
	dbs := ticketTables(t, 3)
	failed := errors.New("as told")
	_, err := sqlsource.ExpandTicketsWith(t.Context(), dbs[:2], nil, func(i int, statement string) error {
		if _, err := sqlsource.ExpandTicketsWith(t.Context(), dbs, nil, func(i int, statement string) error {
			if i < 2 && strings.HasPrefix(statement, "UNLOCK") {
				return failed
			}
			return nil
		}); !errors.Is(err, failed) {
			t.Errorf("the inner call = %v, want %v", err, failed)
		}
		return failed
	})
	if !errors.Is(err, failed) {
		t.Errorf("the outer call = %v, want %v", err, failed)
	}
	_, err = sqlsource.PlanTickets(t.Context(), dbs[:2], nil)
	if err == nil || !strings.Contains(err.Error(), "not carried out") {
		t.Errorf("PlanTickets of two servers, one of them in a plan for three = %v, want an error that says so", err)
	}
	_, err = sqlsource.ExpandTicketsWith(t.Context(), dbs, nil, func(i int, statement string) error {
		if i == 0 && strings.HasPrefix(statement, "SET @") {
			// Another call has announced a plan with another start since the tables were read.
			run(t, dbs[0], "REPLACE INTO ticket (stub) VALUES ('uid-ticket-plan 3/1/77000000')")
		}
		return nil
	})
	if !errors.Is(err, sqldb.ErrChanged) {
		t.Errorf("ExpandTickets over a plan that was announced since = %v, want ErrChanged", err)
	}
}

// TestTicketPlanTags: a tag that would look like a plan is refused.
func TestTicketPlanTags(t *testing.T) {
	t.Parallel()
	dbs := ticketTables(t, 1)
	src := sqlsource.Ticket(dbs, nil)
	for _, tag := range []string{"uid-ticket-plan", "uid-ticket-plan 1/1/5", "UID-Ticket-Plan 1/1/5"} {
		if r, err := src.Fetch(t.Context(), tag, 1); !errors.Is(err, segment.ErrUnknownTag) {
			t.Errorf("Fetch(%q) = %v, %v, want ErrUnknownTag", tag, r, err)
		}
	}
}

// TestTicketNarrowStub: a column that cannot hold a plan is refused before any change, and its table is
// not left locked.
func TestTicketNarrowStub(t *testing.T) {
	t.Parallel()
	dbs := ticketTables(t, 2)
	for _, db := range dbs {
		run(t, db, "ALTER TABLE ticket MODIFY stub VARCHAR(20) NOT NULL")
	}
	if _, err := sqlsource.ExpandTickets(t.Context(), dbs, nil); sqldb.MySQLCode(err) != 1406 {
		t.Errorf("ExpandTickets over a narrow column = %v, want error 1406", err)
	}
	segtest.Fetch(t, sqlsource.Ticket(dbs[1:], nil), "a", 1)
}
