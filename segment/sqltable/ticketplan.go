package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
	"github.com/uidring/uidring/segment"
)

var _ ticketplan.Planner = (*ticket)(nil)

// Plan returns the plans that make the servers one set. It implements ticketplan.Planner.
func (t *ticket) Plan(ctx context.Context) ([]ticketplan.Plan, error) {
	if err := t.apart(ctx); err != nil {
		return nil, err
	}
	e, err := t.expansion(ctx)
	if err != nil {
		return nil, err
	}
	return e.plans(), nil
}

// planMark is the prefix of the stub of a plan's row. No tag may have it.
const planMark = "uid-ticket-plan"

// plan says how a server counts from the id start on. It is stored as a row of the server's ticket
// table, so that it survives restarts. If there are several such rows, the newest counts. The zero
// value is no plan. A plan that starts at 0 says how the server has counted from the beginning; its
// row has the id 0.
//
// Until the plan is carried out, the id of its row lies below start. Writing the row again moves
// the counter, and from then on the row's id is start or more. The row must stay: InnoDB before
// MySQL 8.0 and MariaDB 10.2.4 counts on from the highest row after a restart.
type plan struct{ step, offset, start int64 }

// String returns the stub of the plan's row.
func (p plan) String() string {
	return fmt.Sprintf("%s %d/%d/%d", planMark, p.step, p.offset, p.start)
}

// parsePlan is the inverse of String. For an empty stub it returns no plan.
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

// isPlan reports whether a tag is reserved for plans, in any case: a collation may ignore case.
func isPlan(tag string) bool {
	return len(tag) >= len(planMark) && strings.EqualFold(tag[:len(planMark)], planMark)
}

// plansOf returns the end of a SELECT, from FROM on, of the rows of a server's plans. The first
// condition uses the index, and the second one respects case.
func plansOf(table string) string {
	like := " LIKE '" + planMark + " %'"
	return " FROM " + table + " WHERE stub" + like + " AND CAST(stub AS BINARY)" + like
}

// newestPlan is plansOf for the plan that counts. The ORDER BY is an expression, so that MySQL does
// not scan the primary key instead, past the deleted rows that REPLACE left.
func newestPlan(table string) string {
	return plansOf(table) + " ORDER BY id + 0 DESC LIMIT 1"
}

// ticketState is the state of a server.
type ticketState struct {
	high         int64 // no id that the server gave is above
	step, offset int64 // of the server's settings
	plan         plan  // written by Expand; zero: none
	row          int64 // id of the plan's row
}

// moved reports whether the server has a plan and its counter was moved to the plan's start.
func (s *ticketState) moved() bool { return s.row >= s.plan.start && s.plan != plan{} }

// readPlan reads the newest plan. A plan that starts at 0 counts as none.
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

// read reads the state of a server. The row of a tag has the tag's last id. The id of a deleted row
// lies below the counter, unless the server has restarted since.
func (s *ticketState) read(ctx context.Context, c *sqldb.Conn, of *ticketServer) error {
	var next int64
	schema, bare := schemaTable(of.opts.Table)
	if _, err := c.Exec(ctx, sqldb.FreshCounters); err != nil {
		return err
	}
	err := c.Row(ctx, "SELECT COALESCE(MAX(id), 0), (SELECT COALESCE(MAX(auto_increment), 1)"+
		" FROM information_schema.tables"+
		" WHERE table_schema = COALESCE(?, DATABASE()) AND table_name = ?),"+
		" @@global.auto_increment_increment, @@global.auto_increment_offset FROM "+of.table,
		[]any{schema, bare}, &s.high, &next, &s.step, &s.offset)
	if err != nil {
		return err
	}
	if err := s.readPlan(ctx, c, of.table); err != nil {
		return err
	}
	s.high = max(s.high, next-1)
	return nil
}

// ticketGap is how far above the highest id a plan starts: more than the servers hand out while the
// plan is announced. If they hand out more, Expand returns an error.
const ticketGap = 1_000_000

// decide returns the start of the plans for step: that of the plan that the servers have for the
// same set, or a new one above every id. Plans are announced from the last server to the first, so
// a plan that the last server does not have belongs to another set.
func decide(states []ticketState, step int64) (start int64, err error) {
	last := len(states) - 1
	high, ours, moved := int64(0), 0, false
	for i, s := range states {
		high = max(high, s.high, s.plan.start)
		switch p := s.plan; {
		case p == plan{}:
		case p.step != step && !s.moved():
			return 0, fmt.Errorf("server %d has a plan for step %d that is not carried out, "+
				"want it finished first", i, p.step)
		case p.step == step && p.offset != int64(i)+1:
			return 0, fmt.Errorf("server %d has offset %d in its plan, "+
				"want it at place %d of the list", i, p.offset, p.offset)
		case p.step == step:
			ours, moved = ours+1, moved || s.moved()
		}
	}
	plan := states[last].plan
	switch {
	case ours == 0:
		return above(high, step)
	case plan.step != step || moved && ours <= last:
		return 0, fmt.Errorf("%d of %d servers have a plan for step %d, and server %d is not "+
			"among them: it would repeat the ids of the server whose place it takes; "+
			"add it at the end of the whole list, with another step",
			ours, last+1, step,
			slices.IndexFunc(states, func(s ticketState) bool { return s.plan.step != step }))
	}
	for i, s := range states {
		mine := s.plan.step == step
		switch {
		case mine && (s.plan.start > plan.start || moved && s.plan.start != plan.start):
			return 0, fmt.Errorf("server %d has a plan that starts at %d, "+
				"and server %d one that starts at %d, want one plan",
				i, s.plan.start, last, plan.start)
		case s.plan.start != plan.start && s.high >= plan.start:
			// The server reached the start before the plan was announced on it. It is too late now.
			return above(high, step)
		}
	}
	return plan.start, nil
}

// above returns the start of a new plan: a multiple of step, more than ticketGap above high.
func above(high, step int64) (int64, error) {
	if high > math.MaxInt64/2-ticketGap {
		return 0, fmt.Errorf("%w: the highest id is %d, want at most %d",
			segment.ErrExhausted, high, int64(math.MaxInt64/2-ticketGap))
	}
	return ((high+ticketGap)/step + 1) * step, nil
}
