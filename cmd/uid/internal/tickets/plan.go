package tickets

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
	"github.com/uidring/uidring/segment"
)

// Work is what one server of a set is to do for its plan.
type Work struct {
	Plan ticketplan.Plan // offsets are 1..Step; ids below Start are counted as before

	// Announce and Change are the statements that are left to run. Each list must run on one
	// connection. Announce writes the plan into the server's table, where every program reads it.
	// Change moves the counter to Start and sets the server's variables. A list that is done is
	// empty.
	Announce, Change []string
}

// Plan returns the work of each server that makes the servers one set. New servers have an empty
// table. Plan reads every server and changes nothing; Expand does the work.
//
// The offset of a server is its place in the list, counted from 1. So old servers must keep their
// places, and new ones follow. The set begins at Start, above every id of any server. If the tables
// have a plan for the same set that is not carried out on all servers, Plan returns what is left of
// it.
//
// Two that are one server, under two names or with two databases, are an error that wraps
// segment.ErrOptions: a server counts in one way only.
func (t *Set) Plan(ctx context.Context) ([]Work, error) {
	if err := t.apart(ctx); err != nil {
		return nil, err
	}
	e, err := t.expansion(ctx)
	if err != nil {
		return nil, err
	}
	return e.work(), nil
}

// state is the state of a server.
type state struct {
	high         int64           // no id that the server gave is above
	step, offset int64           // of the server's settings
	plan         ticketplan.Plan // written by Expand; zero: none
	row          int64           // id of the plan's row
}

// moved reports whether the server has a plan and its counter was moved to the plan's start.
func (s *state) moved() bool { return s.row >= s.plan.Start && s.plan != ticketplan.Plan{} }

// readPlan reads the newest plan. A plan that starts at 0 counts as none.
func (s *state) readPlan(ctx context.Context, c *sqldb.Conn) error {
	var stub string
	s.row, s.plan = 0, ticketplan.Plan{}
	err := c.Row(ctx, "SELECT id, stub"+ticketplan.FromNewest(table), nil, &s.row, &stub)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err == nil {
		if s.plan, err = ticketplan.Parse(stub); err != nil {
			return wrong(err)
		}
	}
	if s.plan.Start == 0 {
		s.row, s.plan = 0, ticketplan.Plan{}
	}
	return err
}

// read reads the state of a server. The row of a tag has the tag's last id. The id of a deleted row
// lies below the counter, unless the server has restarted since.
func (s *state) read(ctx context.Context, c *sqldb.Conn) error {
	var next int64
	if _, err := c.Exec(ctx, sqldb.FreshCounters); err != nil {
		return err
	}
	err := c.Row(ctx, "SELECT COALESCE(MAX(id), 0), (SELECT COALESCE(MAX(auto_increment), 1)"+
		" FROM information_schema.tables"+
		" WHERE table_schema = DATABASE() AND table_name = 'ticket'),"+
		" @@global.auto_increment_increment, @@global.auto_increment_offset FROM "+table,
		nil, &s.high, &next, &s.step, &s.offset)
	if err != nil {
		return err
	}
	if err := s.readPlan(ctx, c); err != nil {
		return err
	}
	s.high = max(s.high, next-1)
	return nil
}

// decide returns the start of the plans for step: that of the plan that the servers have for the
// same set, or a new one above every id. Plans are announced from the last server to the first, so
// a plan that the last server does not have belongs to another set.
func decide(states []state, step int64) (start int64, err error) {
	last := len(states) - 1
	high, ours, moved := int64(0), 0, false
	for i, s := range states {
		high = max(high, s.high, s.plan.Start)
		switch p := s.plan; {
		case p == ticketplan.Plan{}:
		case p.Step != step && !s.moved():
			return 0, fmt.Errorf("server %d has a plan for step %d that is not carried out, "+
				"want it finished first", i, p.Step)
		case p.Step == step && p.Offset != int64(i)+1:
			return 0, fmt.Errorf("server %d has offset %d in its plan, "+
				"want it at place %d of the list", i, p.Offset, p.Offset)
		case p.Step == step:
			ours, moved = ours+1, moved || s.moved()
		}
	}
	plan := states[last].plan
	switch {
	case ours == 0:
		return above(high, step)
	case plan.Step != step || moved && ours <= last:
		return 0, fmt.Errorf("%d of %d servers have a plan for step %d, and server %d is not "+
			"among them: it would repeat the ids of the server whose place it takes; "+
			"add it at the end of the whole list, with another step",
			ours, last+1, step,
			slices.IndexFunc(states, func(s state) bool { return s.plan.Step != step }))
	}
	for i, s := range states {
		mine := s.plan.Step == step
		switch {
		case mine && (s.plan.Start > plan.Start || moved && s.plan.Start != plan.Start):
			return 0, fmt.Errorf("server %d has a plan that starts at %d, "+
				"and server %d one that starts at %d, want one plan",
				i, s.plan.Start, last, plan.Start)
		case s.plan.Start != plan.Start && s.high >= plan.Start:
			// The server reached the start before the plan was announced on it. It is too late now.
			return above(high, step)
		}
	}
	return plan.Start, nil
}

// above returns the start of a new plan: a multiple of step, more than ticketplan.Gap above high.
func above(high, step int64) (int64, error) {
	if high > math.MaxInt64/2-ticketplan.Gap {
		return 0, fmt.Errorf("%w: the highest id is %d, want at most %d",
			segment.ErrExhausted, high, int64(math.MaxInt64/2-ticketplan.Gap))
	}
	return ((high+ticketplan.Gap)/step + 1) * step, nil
}
