package tickets

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/ticketplan"
)

// Abandon takes back the plans that Expand announced, and returns how many there were. It fails
// once a counter of the set has moved to its plan's start: ids are counted by the plan then, and
// Expand has to finish it. Programs stay in service, and the servers count on as before.
//
// The servers are all of the plan, in any order, each once or under several names. It needs what
// Expand needs. After an error it may be called again.
//
// # Why no id is given twice
//
// Expand moves the counter of the server with the highest offset first, and no server's before it.
// Each move and each deletion here is made under a lock of the table, after the plan was read
// again. The plan of the highest offset is deleted first. So either its counter has moved, and
// nothing is deleted anywhere, or it never will, and neither will the others.
func (t *Set) Abandon(ctx context.Context) (total int, err error) {
	servers := make([]*announced, len(t.servers))
	for i, s := range t.servers {
		a := &announced{server: s}
		err := s.changing(ctx, func(c *sqldb.Conn) error { return a.read(ctx, c) })
		if err != nil {
			return 0, s.named(err)
		}
		servers[i] = a
	}
	for _, a := range servers {
		for _, b := range servers {
			if err := a.begun(b.done); err != nil {
				return 0, b.named(err)
			}
		}
	}
	slices.SortStableFunc(servers, func(a, b *announced) int {
		return cmp.Compare(b.last(), a.last())
	})
	for _, a := range servers {
		n, err := a.abandon(ctx)
		if total += n; err != nil {
			return total, a.named(err)
		}
	}
	return total, nil
}

// announced is a server with the plans in its table.
type announced struct {
	*server
	open []ticketplan.Plan // announced, and the counter lies below their start
	done []ticketplan.Plan // the counter was moved to their start
}

// read reads all plans. One that starts at 0 says how the server counts, and is no plan.
func (a *announced) read(ctx context.Context, c *sqldb.Conn) error {
	a.open, a.done = nil, nil
	return c.Each(ctx, func(r *sql.Rows) error {
		var id int64
		var stub string
		if err := r.Scan(&id, &stub); err != nil {
			return err
		}
		p, err := ticketplan.Parse(stub)
		switch {
		case err != nil:
			return wrong(err)
		case p.Start == 0:
		case id < p.Start:
			a.open = append(a.open, p)
		default:
			a.done = append(a.done, p)
		}
		return nil
	}, "SELECT id, stub"+ticketplan.From(table))
}

// last returns the highest offset of the plans to take back.
func (a *announced) last() (offset int64) {
	for _, p := range a.open {
		offset = max(offset, p.Offset)
	}
	return offset
}

// begun returns an error if a plan of done belongs to the set of a plan to take back.
func (a *announced) begun(done []ticketplan.Plan) error {
	for _, p := range a.open {
		for _, d := range done {
			if p.Step == d.Step && p.Start == d.Start {
				return fmt.Errorf("the counter has moved to %d, where the plan for step %d "+
					"starts, want Expand to finish it", d.Start, d.Step)
			}
		}
	}
	return nil
}

// abandon deletes the plans of the server, under the lock that Expand takes too.
func (a *announced) abandon(ctx context.Context) (n int, err error) {
	if a.open == nil {
		return 0, nil
	}
	err = a.changing(ctx, func(c *sqldb.Conn) error {
		if n, err = a.delete(ctx, c); err != nil {
			c.Discard() // the server then unlocks the table
		}
		return err
	})
	return n, err
}

// delete is abandon on a connection.
func (a *announced) delete(ctx context.Context, c *sqldb.Conn) (n int, err error) {
	exec := func(statements ...string) error {
		for _, q := range statements {
			if _, err := c.Exec(ctx, q); err != nil {
				return err
			}
		}
		return nil
	}
	was := *a
	if err = exec(carefully, "LOCK TABLES "+table+" WRITE"); err == nil {
		err = a.read(ctx, c)
	}
	if err == nil {
		err = was.begun(a.done)
	}
	for _, p := range a.open {
		if err == nil {
			err = exec(fmt.Sprintf("DELETE FROM %s WHERE stub = '%v'", table, p))
			n++
		}
	}
	if err == nil {
		err = c.Commit(ctx) // before the table is unlocked
	}
	if err == nil {
		err = exec("UNLOCK TABLES", asBefore)
	}
	return n, err
}
