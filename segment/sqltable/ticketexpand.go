package sqltable

import (
	"context"
	"fmt"
	"slices"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
)

// Expand carries out the plans. It implements ticketplan.Planner.
//
// # Why no id is given twice
//
// Start lies above every id that a server gave before its plan was announced, because the server's
// counter is checked and the plan's row is written under one lock of the table. A program uses an
// id only if, after the server gave it, the program read how the server counts and which plan it
// has. An id below Start must be counted the old way, and one from Start on as the plan says. No
// server is changed before the plan is announced on all of them. So on every server, ids that are
// counted the old way lie below Start, and the ids of different servers from Start on differ by
// their remainders.
func (t *ticket) Expand(ctx context.Context) ([]ticketplan.Plan, error) {
	if err := t.apart(ctx); err != nil {
		return nil, err
	}
	return t.expand(ctx, func(int, string) error { return nil })
}

// expand is Expand for tables that may be on one server. It calls after following each statement of
// a server, with the server's index and the statement. An error of after ends it.
func (t *ticket) expand(
	ctx context.Context, after func(int, string) error,
) ([]ticketplan.Plan, error) {
	e, err := t.expansion(ctx)
	if err != nil {
		return nil, err
	}
	plans := e.plans()
	phases := []func(ticketplan.Plan) []string{
		func(p ticketplan.Plan) []string { return p.Announce },
		func(p ticketplan.Plan) []string { return p.Change },
	}
	for _, phase := range phases {
		for i, plan := range slices.Backward(plans) { // new servers come first
			if err := e.run(ctx, i, phase(plan), after); err != nil {
				return plans, t.servers[i].named(err)
			}
		}
	}
	return plans, nil
}

// expansion is a set of servers that is being expanded. The slices are indexed by server.
type expansion struct {
	servers []*ticketServer
	states  []ticketState
	start   int64 // of every plan
}

// expansion reads the states of the servers. Every server has to answer, because any of them may
// have the highest id.
func (t *ticket) expansion(ctx context.Context) (*expansion, error) {
	if t.err != nil {
		return nil, t.err
	}
	e := &expansion{servers: t.servers, states: make([]ticketState, len(t.servers))}
	for i, s := range t.servers {
		err := s.changing(ctx, func(c *sqldb.Conn) error { return e.states[i].read(ctx, c, s) })
		if err != nil {
			return nil, s.named(err)
		}
	}
	start, err := decide(e.states, t.opts.Step)
	if err != nil {
		return nil, fmt.Errorf("sqltable: %w", err)
	}
	e.start = start
	return e, nil
}

// plan returns the plan that server i is to have.
func (e *expansion) plan(i int) plan { return plan{e.servers[i].opts.Step, int64(i) + 1, e.start} }

// The session's settings during a phase. LOCK TABLES waits for at most two seconds, because
// programs queue up behind it. In strict mode a value that is too long for its column is an error.
const (
	carefully = "SET @uidring_sql_mode = @@session.sql_mode, " +
		"SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION lock_wait_timeout = 2"
	asBefore = "SET SESSION sql_mode = @uidring_sql_mode, SESSION lock_wait_timeout = DEFAULT"
)

// The statements of both phases. Each is atomic: a crash leaves all of its effect or none.
func (e *expansion) lock(i int) string { return "LOCK TABLES " + e.servers[i].table + " WRITE" }
func (e *expansion) probe(i int) string {
	return fmt.Sprintf("REPLACE INTO %s (stub) VALUES ('%s')", e.servers[i].table, planMark)
}
func (e *expansion) mark(i int) string {
	return fmt.Sprintf("REPLACE INTO %s (stub) VALUES ('%v')", e.servers[i].table, e.plan(i))
}
func (e *expansion) move(i int) string {
	p := e.plan(i)
	return fmt.Sprintf("REPLACE INTO %s (id, stub) VALUES (%d, '%v')",
		e.servers[i].table, p.start+p.offset, p)
}

// plans returns the plans of all servers, with the statements that are left to run.
func (e *expansion) plans() []ticketplan.Plan {
	const unlock = "UNLOCK TABLES"
	plans := make([]ticketplan.Plan, len(e.states))
	for i, s := range e.states {
		p := e.plan(i)
		plans[i] = ticketplan.Plan{Step: p.step, Offset: p.offset, Start: p.start}
		if s.plan != p {
			plans[i].Announce = []string{
				carefully, e.lock(i), e.probe(i), e.mark(i), unlock, asBefore,
			}
		}
		if s.plan != p || !s.moved() || s.step != p.step || s.offset != p.offset {
			plans[i].Change = []string{
				carefully, e.lock(i), e.move(i), unlock, asBefore,
				fmt.Sprintf("SET GLOBAL auto_increment_offset = %d", p.offset),
				fmt.Sprintf("SET GLOBAL auto_increment_increment = %d", p.step),
			}
		}
	}
	return plans
}

// run runs statements of a server on one connection.
func (e *expansion) run(
	ctx context.Context, i int, statements []string, after func(int, string) error,
) error {
	if len(statements) == 0 {
		return nil
	}
	return e.servers[i].changing(ctx, func(c *sqldb.Conn) error {
		for _, q := range statements {
			err := e.exec(ctx, c, i, q)
			if err == nil {
				err = after(i, q)
			}
			if err != nil {
				c.Discard() // the server then unlocks the table
				return err
			}
		}
		return nil
	})
}

// exec runs a statement and checks what the following statements depend on. Two calls of
// Expand may run at once, so under the table's lock the server must still have the plan that
// it had when it was read. Its counter must lie below the start before a plan is written. The row
// of the plan must be stored as written, which a narrow column may prevent.
func (e *expansion) exec(ctx context.Context, c *sqldb.Conn, i int, q string) error {
	result, err := c.Exec(ctx, q)
	if err != nil {
		return err
	}
	s := &e.states[i]
	switch q {
	case e.lock(i):
		was := *s
		if err := s.readPlan(ctx, c, e.servers[i].table); err != nil {
			return err
		}
		if s.plan != was.plan || s.row != was.row {
			return fmt.Errorf("%w: another call has announced or carried out a plan; call again",
				sqldb.ErrChanged)
		}
	case e.probe(i):
		id, err := result.LastInsertId()
		if err != nil {
			return err
		}
		if most := e.start - 2*segbound.Stride; id > most { // the plan's row takes the next id
			return fmt.Errorf("%w: the counter is at %d, want at most %d for a plan that starts "+
				"at %d; call again", sqldb.ErrChanged, id, most, e.start)
		}
	case e.mark(i), e.move(i):
		if err := s.readPlan(ctx, c, e.servers[i].table); err != nil {
			return err
		}
		if s.plan != e.plan(i) {
			return wrong("the table did not store the plan %q, want VARCHAR(64) for stub",
				e.plan(i))
		}
	}
	return nil
}
