package tickets

import (
	"context"
	"fmt"
	"slices"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
)

// Expand does the work of Plan and returns it. The servers stay in service. After an error it may
// be called again, with the same servers in the same order: it continues where it stopped. Abandon
// takes the plans back instead.
//
// A server may restart at any moment, with the old settings, the new ones or none. Until its
// settings are those of its plan, no program uses its ids from Start on. Another call of Expand
// repairs the settings. They must be in the servers' configuration files all the same, or every
// restart takes the server out of service.
//
// Expand needs MySQL or MariaDB, and the privileges to lock the table and to set global variables.
// The variables affect every table of the server. It locks each table twice, for as long as three
// statements take.
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
func (t *Set) Expand(ctx context.Context) ([]Work, error) {
	if err := t.apart(ctx); err != nil {
		return nil, err
	}
	return t.expand(ctx, func(int, string) error { return nil })
}

// expand is Expand for tables that may be on one server. It calls after following each statement of
// a server, with the server's index and the statement. An error of after ends it.
func (t *Set) expand(ctx context.Context, after func(int, string) error) ([]Work, error) {
	e, err := t.expansion(ctx)
	if err != nil {
		return nil, err
	}
	all := e.work()
	phases := []func(Work) []string{
		func(w Work) []string { return w.Announce },
		func(w Work) []string { return w.Change },
	}
	for _, phase := range phases {
		for i, w := range slices.Backward(all) { // new servers come first
			if err := e.run(ctx, i, phase(w), after); err != nil {
				return all, t.servers[i].named(err)
			}
		}
	}
	return all, nil
}

// expansion is a set of servers that is being expanded.
type expansion struct {
	*Set
	states []state // of the servers
	start  int64   // of every plan
}

// expansion reads the states of the servers. Every server has to answer, because any of them may
// have the highest id.
func (t *Set) expansion(ctx context.Context) (*expansion, error) {
	e := &expansion{Set: t, states: make([]state, len(t.servers))}
	for i, s := range t.servers {
		err := s.changing(ctx, func(c *sqldb.Conn) error { return e.states[i].read(ctx, c) })
		if err != nil {
			return nil, s.named(err)
		}
	}
	start, err := decide(e.states, t.step)
	e.start = start
	return e, err
}

// plan returns the plan that server i is to have.
func (e *expansion) plan(i int) ticketplan.Plan {
	return ticketplan.Plan{Step: e.step, Offset: int64(i) + 1, Start: e.start}
}

// The session's settings during a phase. LOCK TABLES waits for at most two seconds, because
// programs queue up behind it. In strict mode a value that is too long for its column is an error.
const (
	carefully = "SET @uidring_sql_mode = @@session.sql_mode, " +
		"SESSION sql_mode = 'STRICT_ALL_TABLES', SESSION lock_wait_timeout = 2"
	asBefore = "SET SESSION sql_mode = @uidring_sql_mode, SESSION lock_wait_timeout = DEFAULT"
)

// The statements of both phases. Each is atomic: a crash leaves all of its effect or none.
const (
	lock  = "LOCK TABLES " + table + " WRITE"
	probe = "REPLACE INTO " + table + " (stub) VALUES ('" + ticketplan.Mark + "')"
)

func mark(p ticketplan.Plan) string {
	return fmt.Sprintf("REPLACE INTO %s (stub) VALUES ('%v')", table, p)
}
func move(p ticketplan.Plan) string {
	return fmt.Sprintf("REPLACE INTO %s (id, stub) VALUES (%d, '%v')", table, p.Start+p.Offset, p)
}

// work returns the work of all servers, with the statements that are left to run.
func (e *expansion) work() []Work {
	const unlock = "UNLOCK TABLES"
	all := make([]Work, len(e.states))
	for i, s := range e.states {
		p := e.plan(i)
		all[i].Plan = p
		if s.plan != p {
			all[i].Announce = []string{carefully, lock, probe, mark(p), unlock, asBefore}
		}
		if s.plan != p || !s.moved() || s.step != p.Step || s.offset != p.Offset {
			all[i].Change = []string{
				carefully, lock, move(p), unlock, asBefore,
				fmt.Sprintf("SET GLOBAL auto_increment_offset = %d", p.Offset),
				fmt.Sprintf("SET GLOBAL auto_increment_increment = %d", p.Step),
			}
		}
	}
	return all
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
	s, p := &e.states[i], e.plan(i)
	switch q {
	case lock:
		was := *s
		if err := s.readPlan(ctx, c); err != nil {
			return err
		}
		if s.plan != was.plan || s.row != was.row {
			return fmt.Errorf("%w: another call has announced or carried out a plan; call again",
				sqldb.ErrChanged)
		}
	case probe:
		id, err := result.LastInsertId()
		if err != nil {
			return err
		}
		if most := e.start - 2*segbound.Stride; id > most { // the plan's row takes the next id
			return fmt.Errorf("%w: the counter is at %d, want at most %d for a plan that starts "+
				"at %d; call again", sqldb.ErrChanged, id, most, e.start)
		}
	case mark(p), move(p):
		if err := s.readPlan(ctx, c); err != nil {
			return err
		}
		if s.plan != p {
			return wrong(fmt.Errorf(
				"the table did not store the plan %q, want VARCHAR(64) for stub", p))
		}
	}
	return nil
}
