package tickets

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

// TestTicketPlanStart: a plan starts above the ids of every server, those of deleted rows included, and
// above an older plan.
func TestTicketPlanStart(t *testing.T) {
	t.Parallel()
	dbs := databases(t, 2)
	src := sqlsource.Ticket(dbs[:1], nil)
	segtest.Fetch(t, src, "a", 1)
	var last segment.Range
	for range 10 {
		last = segtest.Fetch(t, src, "old", 100)
	}
	run(t, dbs[0], "DELETE FROM ticket WHERE stub LIKE 'old%'")
	plans, err := planTables(t, dbs, 0)
	if err != nil || plans[1].Plan.Start < last.To+1_000_000 {
		t.Errorf("the plan after rows up to %d were deleted is %+v, %v, want it to start 1,000,000 above",
			last.To-1, plans, err)
	}
	run(t, dbs[1], "REPLACE INTO ticket (id, stub) VALUES (5000007, 'uid-ticket-plan 7/2/5000000')")
	plans, err = planTables(t, dbs, 0)
	if err != nil || plans[0].Plan.Start < 6_000_000 {
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
		dbs := databases(t, 3)
		for i, statement := range tt.tables {
			run(t, dbs[i], statement)
		}
		plans, err := planTables(t, dbs, 0)
		switch {
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: Plan = %+v, %v, want an error with %q", tt.name, plans, err, tt.want)
		case tt.want == "" && (err != nil || tt.start > 0 && plans[0].Plan.Start != tt.start ||
			tt.start == 0 && plans[0].Plan.Start <= start+1_000_000 && tt.name != "none"):
			t.Errorf("%s: Plan = %+v, %v, want it to start at %d, or at a new start if that is 0",
				tt.name, plans, err, tt.start)
		}
	}
}

// TestTicketExpandTogether: of two concurrent calls with different plans, each stops if the other has
// changed a table since it read the table.
func TestTicketExpandTogether(t *testing.T) {
	t.Parallel()
	dbs := databases(t, 3)
	failed := errors.New("as told")
	_, err := set(t, dbs[:2]).expand(t.Context(), func(i int, statement string) error {
		if _, err := set(t, dbs).expand(t.Context(), func(i int, statement string) error {
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
	_, err = planTables(t, dbs[:2], 0)
	if err == nil || !strings.Contains(err.Error(), "not carried out") {
		t.Errorf("Plan of two servers, one of them in a plan for three = %v, want an error that says so", err)
	}
	_, err = set(t, dbs).expand(t.Context(), func(i int, statement string) error {
		if i == 0 && strings.HasPrefix(statement, "SET @") {
			// Another call has announced a plan with another start since the tables were read.
			run(t, dbs[0], "REPLACE INTO ticket (stub) VALUES ('uid-ticket-plan 3/1/77000000')")
		}
		return nil
	})
	if !errors.Is(err, sqldb.ErrChanged) {
		t.Errorf("Expand over a plan that was announced since = %v, want ErrChanged", err)
	}
}

// TestTicketNarrowStub: a column that cannot hold a plan is refused before any change, and its table is
// not left locked.
func TestTicketNarrowStub(t *testing.T) {
	t.Parallel()
	dbs := databases(t, 2)
	for _, db := range dbs {
		run(t, db, "ALTER TABLE ticket MODIFY stub VARCHAR(20) NOT NULL")
	}
	if _, err := set(t, dbs).expand(t.Context(), func(int, string) error { return nil }); sqldb.MySQLCode(err) != 1406 {
		t.Errorf("Expand over a narrow column = %v, want error 1406", err)
	}
	segtest.Fetch(t, sqlsource.Ticket(dbs[1:], nil), "a", 1)
}

// TestTicketAbandon: plans that were announced are taken back, wherever Expand stopped, as long
// as no counter has moved. Afterwards another plan can be made.
func TestTicketAbandon(t *testing.T) {
	t.Parallel()
	stopped := errors.New("as told")
	var all int // statements of a whole call
	for stop := 1; ; stop++ {
		dbs := databases(t, 3)
		run(t, dbs[0], "REPLACE INTO ticket (id, stub) VALUES (3000002, 'uid-ticket-plan 2/1/3000000')")
		moved, n := false, 0
		_, err := set(t, dbs).expand(t.Context(), func(_ int, statement string) error {
			n++
			moved = moved || strings.HasPrefix(statement, "REPLACE INTO `ticket` (id,")
			if n == stop || strings.HasPrefix(statement, "UNLOCK") && moved { // no setting is changed
				return stopped
			}
			return nil
		})
		if !errors.Is(err, stopped) {
			t.Fatalf("Expand = %v, want it stopped after %d statements", err, stop)
		}
		_, err = set(t, dbs).Abandon(t.Context())
		left := 0
		for _, db := range dbs {
			left += int(number(t, db, "SELECT COUNT(*) FROM ticket WHERE stub LIKE 'uid-ticket-plan 3/%'"))
		}
		if moved {
			if err == nil || !strings.Contains(err.Error(), "has moved") || left != 3 {
				t.Errorf("Abandon after a counter moved = %v, and %d plans are left, want an error and 3",
					err, left)
			}
			break
		}
		if err != nil || left != 0 {
			t.Errorf("Abandon after %d statements = %v, and %d plans are left, want none", stop, err, left)
		}
		plans, err := planTables(t, dbs[:2], 5)
		if err != nil || plans[0].Plan.Step != 5 {
			t.Errorf("Plan after Abandon = %+v, %v, want another plan", plans, err)
		}
		if n := number(t, dbs[0], "SELECT COUNT(*) FROM ticket WHERE stub = 'uid-ticket-plan 2/1/3000000'"); n != 1 {
			t.Errorf("%d rows of the plan that was carried out long ago, want 1", n)
		}
		all++
	}
	if all < 15 {
		t.Errorf("%d statements before a counter moves, want those of three servers", all)
	}
	// One server that an earlier version took for two has two plans in one table.
	db := databases(t, 1)[0]
	for _, p := range []string{"2/2/4000000", "2/1/4000000"} {
		run(t, db, "REPLACE INTO ticket (stub) VALUES ('uid-ticket-plan "+p+"')")
	}
	if n, err := set(t, []*gorm.DB{db}).Abandon(t.Context()); n != 2 || err != nil {
		t.Errorf("Abandon of a server that was named twice = %d, %v, want 2 plans", n, err)
	}
	segtest.Fetch(t, sqlsource.Ticket([]*gorm.DB{db}, nil), "a", 1)
}
