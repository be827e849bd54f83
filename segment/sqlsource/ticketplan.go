package sqlsource

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// TicketPlan says how one server of a set that changes is to count.
type TicketPlan struct {
	Step   int64 // auto_increment_increment
	Offset int64 // auto_increment_offset, 1..Step
	Start  int64 // ids from here on are counted this way, and those below as before

	// Announce and Change are the statements that are left to run, each list on one connection.
	// Announce writes the plan into the server's table, from where every program reads it. Change
	// moves the counter to Start and sets the variables of the server. An empty list is done.
	Announce, Change []string
}

// PlanTickets works out how the servers of dbs become one set, of which some may be new with an
// empty table. It reads every server and changes nothing: ExpandTickets does.
//
// Each server is to count by Options.Step, or by as many as there are servers, from the offset that
// is its place in dbs. So old servers keep their places, and new ones follow. The set begins at
// Start, above every id of any server. If the tables have a plan for the same set that is not
// carried out everywhere, PlanTickets returns what is left of it.
func PlanTickets(ctx context.Context, dbs []*gorm.DB, opts *TicketOptions) ([]TicketPlan, error) {
	e, err := newExpansion(ctx, dbs, opts)
	if err != nil {
		return nil, err
	}
	return e.plans(), nil
}

// planMark begins the stub of a row that has a plan. No tag may begin so.
const planMark = "uid-ticket-plan"

// plan is how a server counts from an id on. The server keeps it as a row of its ticket table, the
// newest one if there are several, so that no restart forgets it. The zero value is no plan. One
// that starts at 0 says how the server has counted from the beginning; its row has the id 0.
//
// Until the plan is carried out the id of its row lies below start. The row is the one that moves
// the counter, so from then on its id is start or more. It stays: InnoDB before MySQL 8.0 and
// MariaDB 10.2.4 counts on from the highest row when it restarts.
type plan struct{ step, offset, start int64 }

// String returns the stub of the plan's row.
func (p plan) String() string {
	return fmt.Sprintf("%s %d/%d/%d", planMark, p.step, p.offset, p.start)
}

// parsePlan is the inverse of String; an empty stub is no plan.
func parsePlan(stub string) (p plan, err error) {
	if stub == "" {
		return p, nil
	}
	_, err = fmt.Sscanf(stub, planMark+" %d/%d/%d", &p.step, &p.offset, &p.start)
	if err != nil || p.String() != stub || p.offset < 1 || p.offset > p.step || p.start < 0 {
		return plan{}, wrong("the row with the stub %q is no plan", stub)
	}
	return p, nil
}

// isPlan reports whether a tag is kept for plans. Collations take upper case for lower case.
func isPlan(tag string) bool {
	return len(tag) >= len(planMark) && strings.EqualFold(tag[:len(planMark)], planMark)
}

// newestPlan is the rest of a SELECT that has the row of a server's plan. The first condition has an
// index, and the second keeps to the case. The order by an expression keeps MySQL from going through
// the primary key instead, past what REPLACE has left there.
func newestPlan(table string) string {
	like := " LIKE '" + planMark + " %'"
	return " FROM " + table + " WHERE stub" + like + " AND CAST(stub AS BINARY)" + like +
		" ORDER BY id + 0 DESC LIMIT 1"
}

// ticketState is what a server says of itself. Its plan is one of ExpandTickets, or none.
type ticketState struct {
	high         int64 // no id of the server is above
	step, offset int64 // of the server's settings
	plan         plan
	row          int64 // id of the plan's row
}

// moved reports whether the server's counter was moved to the plan's start.
func (s *ticketState) moved() bool { return s.row >= s.plan.start && s.plan != plan{} }

// readPlan reads the newest plan.
func (s *ticketState) readPlan(ctx context.Context, c *sqldb.Conn, table string) error {
	var stub string
	s.row, s.plan = 0, plan{}
	err := c.Row(ctx, "SELECT id, stub"+newestPlan(table), nil, &s.row, &stub)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		s.plan, err = parsePlan(stub)
	}
	if s.plan.start == 0 {
		s.row, s.plan = 0, plan{}
	}
	return err
}

// read reads the state of a server. A tag's row keeps the tag's last id; what a row that was
// deleted had lies below the counter, as long as the server has not been started since.
func (s *ticketState) read(ctx context.Context, c *sqldb.Conn, name, table string) error {
	var next int64
	schema, bare := schemaTable(name)
	err := c.Row(ctx, "SELECT COALESCE(MAX(id), 0), (SELECT COALESCE(MAX(auto_increment), 1)"+
		" FROM information_schema.tables"+
		" WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?),"+
		" @@global.auto_increment_increment, @@global.auto_increment_offset FROM "+table,
		[]any{schema, bare}, &s.high, &next, &s.step, &s.offset)
	if err != nil {
		return err
	}
	if err := s.readPlan(ctx, c, table); err != nil {
		return err
	}
	s.high = max(s.high, next-1)
	return nil
}

// ticketGap is how far above the highest id a plan starts: more than servers hand out while the
// plan is announced. If they hand out more, ExpandTickets says so and changes nothing.
const ticketGap = 1_000_000

// decide returns where the set of a plan for step begins: where the plan that the servers have says,
// or above every id. Servers are announced from the last to the first, so a plan that the last one
// does not have is another set's.
func decide(states []ticketState, step int64) (start int64, err error) {
	last := len(states) - 1
	high, ours, moved := int64(0), 0, false
	for i, s := range states {
		high = max(high, s.high, s.plan.start)
		switch p := s.plan; {
		case p == plan{}:
		case p.step != step && !s.moved():
			return 0, fmt.Errorf("server %d has a plan for step %d that is not carried out, want it "+
				"finished first", i, p.step)
		case p.step == step && p.offset != int64(i)+1:
			return 0, fmt.Errorf("server %d has offset %d in its plan, want it at place %d of the list",
				i, p.offset, p.offset)
		case p.step == step:
			ours, moved = ours+1, moved || s.moved()
		}
	}
	plan := states[last].plan
	switch {
	case ours == 0:
		return above(high, step)
	case plan.step != step || moved && ours <= last:
		return 0, fmt.Errorf("%d of %d servers have a plan for step %d, and server %d is not among "+
			"them: it would repeat the ids of the one whose place it takes; add it at the end of the "+
			"whole list, with a step of its own", ours, last+1, step, missing(states, step))
	}
	for i, s := range states {
		mine := s.plan.step == step
		switch {
		case mine && (s.plan.start > plan.start || moved && s.plan.start != plan.start):
			return 0, fmt.Errorf("server %d has a plan that starts at %d, and server %d one that starts "+
				"at %d, want one plan", i, s.plan.start, last, plan.start)
		case s.plan.start != plan.start && s.high >= plan.start:
			// The server came to the start before the plan was announced on it, which it never will be.
			return above(high, step)
		}
	}
	return plan.start, nil
}

// missing returns the first server that has no plan for step.
func missing(states []ticketState, step int64) int {
	for i, s := range states {
		if s.plan.step != step {
			return i
		}
	}
	return 0
}

// above returns the start of a new plan.
func above(high, step int64) (int64, error) {
	if high > math.MaxInt64/2-ticketGap {
		return 0, fmt.Errorf("%w: the highest id is %d, want at most %d",
			segment.ErrExhausted, high, int64(math.MaxInt64/2-ticketGap))
	}
	return ((high+ticketGap)/step + 1) * step, nil
}
