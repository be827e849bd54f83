package workernode

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
)

// crowd is among how many of the lowest unused worker ids a start takes one at random, when many
// processes start at the same time, so that few of them meet. Looking for more than one costs no
// further statement, because unused reads whole pages and stops at the first with a gap. The price
// is that worker ids are not used strictly from the lowest on while a fleet starts.
const crowd = 64

// newRow inserts the row of a new worker id, a key of WORKER_NODE. It returns nil if the worker id
// has a row already: WORKER_LEASE was filled by hand, or WORKER_NODE forgot its newest rows. claim
// then calls it again, for another worker id.
//
// The worker id is chosen and its row inserted in two steps on the database, because a key of
// WORKER_NODE has to be committed before anything is built on it.
//
// A process that dies after the first step has used up a key of WORKER_NODE. One that dies after
// the second has reserved a window that nobody stamps in. An Assign that ends there keeps the key
// for the next one of the same Assigner: see spare.
func (c *claimer) newRow(ctx context.Context) (got *attempt, err error) {
	if err := c.newID(ctx); err != nil {
		return nil, err
	}
	err = c.Do(ctx, func(q *sqldb.Conn) error {
		if err := c.settled(ctx, q); err != nil {
			return err
		}
		got, err = c.insert(ctx, q, c.fresh, c.memory.begin())
		return err
	})
	if err != nil {
		return nil, err // c.fresh is kept: the same row is tried again
	}
	if got == nil {
		warnLeased(c.Logger(), c.fresh)
	}
	c.fresh = none
	return got, nil
}

// settled is look before a row is inserted: the namespace's first row settles its layout, so the
// layout has to be committed. The lock that reads it is given up at once, or an INSERT that waits
// for another session would keep every claim of the namespace waiting. What changes after that,
// confirm finds.
func (c *claimer) settled(ctx context.Context, q *sqldb.Conn) error {
	if err := c.look(ctx, q, q.ForUpdate); err != nil {
		return err
	}
	return q.Commit(ctx)
}

// newRowOf inserts the row of one of the unused worker ids that choose has found. It is ErrChanged
// if other processes were faster each time.
//
// A process that is alone takes the lowest. After each loss it takes one at random among twice as
// many: processes that start together would all meet at the lowest, and wait for each other there.
// Two processes that take the same one find out at the primary key: one INSERT fails.
func (c *claimer) newRowOf(ctx context.Context, q *sqldb.Conn) (*attempt, error) {
	if err := c.settled(ctx, q); err != nil {
		return nil, err
	}
	from := max(c.memory.begin(), c.floor)
	for range tries {
		n := len(c.unused)
		if n == 0 {
			break
		}
		i := rand.IntN(min(c.among, n))
		worker := c.unused[i]
		c.unused = slices.Delete(c.unused, i, i+1)
		got, err := c.insert(ctx, q, worker, from)
		if got != nil || err != nil {
			return got, err
		}
		c.among = min(max(crowd, 2*c.among), n)
	}
	return nil, sqldb.ErrChanged
}

// newID sets fresh to a new key of WORKER_NODE. A key that an earlier try has got is kept, so that
// tries do not use worker ids up.
// An INSERT into WORKER_NODE whose answer is lost does use one up: the key is unknown, and a key
// that the database has generated is never generated again.
func (c *claimer) newID(ctx context.Context) error {
	return c.Do(ctx, func(q *sqldb.Conn) (err error) {
		if c.fresh != none {
			// The key is from an earlier attempt. The table may have gone back since, and then the
			// key may be that of another process's row.
			if ours, err := c.node.has(ctx, q, c.fresh); ours || err != nil {
				return err
			}
		}
		// With an error fresh may be a key whose row is not committed, or no key at all.
		if c.fresh, err = newWorker(ctx, q, c.node); err != nil {
			c.fresh = none
			return err
		}
		// Other processes were faster since room has looked, or the database has skipped keys. This
		// key is kept for an Assign with a wider layout.
		if id := c.fresh; id > c.last {
			return final("%w: the new key of WORKER_NODE is %d, the highest worker id is %d; "+
				"wait for a worker id to be free, or use a Namespace of your own or a layout "+
				"with more WorkerBits",
				assigner.ErrWorkersExhausted, id, c.last)
		}
		return nil
	})
}

// insert adds a worker id's row, whose window begins at from. It returns nil if there is a row.
//
// The window of a worker id without a row begins at the beginning of time, but for what Restore has
// written (the floor) and windows that this process knows to be forgotten. That is right only
// because no row is ever deleted: a worker id without one was never leased. For a key of
// WORKER_NODE it is right because no other start gets the key.
//
// In the namespace that shares WORKER_NODE the floor does not count, because Restore moves the next
// key above every worker id that was used.
func (c *claimer) insert(ctx context.Context, q *sqldb.Conn, worker, from int64) (*attempt, error) {
	// A claim of this process had a row here, so its absence means that the table went back.
	if known, ok := c.memory.row(worker); ok {
		found, _, err := c.find(ctx, q, worker)
		if found == nil && err == nil {
			err = &behindError{nil, known}
		}
		return nil, err
	}
	a := attempt{from: from, mine: row{worker: worker, token: 1, nonce: c.nonce, owner: c.owner,
		until: c.windowEnd(from)}}
	add := func(ctx context.Context) (bool, error) {
		err := c.add(ctx, q, a.mine)
		if err != nil && c.Failure(err) == sqldb.Duplicate {
			return false, nil
		}
		return err == nil, err
	}
	if !c.shared() {
		return c.try(ctx, a, add)
	}
	// No other process inserts the row of a key of WORKER_NODE. The same process does, in several
	// tries, of which some may be those of an earlier Assign: they are found by their nonce.
	made, err := add(ctx)
	if err != nil {
		return nil, err
	}
	if !made {
		found, _, err := c.find(ctx, q, worker)
		if found == nil || found.nonce != c.nonce || found.token != 1 {
			return nil, err
		}
		a.mine = *found
		return c.prove(ctx, q, a)
	}
	return &a, nil
}

// room returns an error if no new worker id is left, without using one up: a fleet that waits for
// free worker ids must not fill the tables. Where the namespace counts for itself it sets unused.
// It reads without locks, so another process may take the last one meanwhile; newRow and newRowOf
// find that out.
func (c *claimer) room(ctx context.Context, q *sqldb.Conn) error {
	if c.fresh != none {
		return nil
	}
	// A look that uses nothing up. Only newID, after it, takes a key.
	if left, err := c.newLeft(ctx, q); left || err != nil {
		return err
	}
	// Rows that were given up as locked may be free by now, and then the error below would be
	// wrong.
	if len(c.locked) > 0 {
		clear(c.locked) // all that is known of these rows is that other sessions had them locked
		return sqldb.ErrChanged
	}
	// The rest is for the message, which tells the operator how long to wait.
	next, err := c.firstEnd(ctx, q, c.heading)
	if err != nil {
		return err
	}
	if !next.Valid {
		return final("%w: worker ids up to the highest, %d, are used by WORKER_NODE and none is "+
			"namespace %q's to reuse; use a Namespace of your own, which counts from 0, or a "+
			"layout with more WorkerBits", assigner.ErrWorkersExhausted, c.last, c.namespace)
	}
	return final("%w: all worker ids up to the highest, %d, are leased or used up; the next one "+
		"of namespace %q is free in %v; wait for it, or use a shorter Window or a layout with "+
		"more WorkerBits",
		assigner.ErrWorkersExhausted, c.last, c.namespace,
		time.UnixMilli(next.Int64).Sub(time.UnixMilli(c.now))) // saturates
}

// newLeft reports whether there are new worker ids. Where the namespace counts for itself it sets
// unused to the lowest of them, several times as many as processes seem to start at the same time.
// In the shared one it compares the highest key of WORKER_NODE with the range, which is a bound and
// not a promise: the next key may skip some.
func (c *claimer) newLeft(ctx context.Context, q *sqldb.Conn) (bool, error) {
	if c.shared() {
		highest, err := highestNode(ctx, q)
		return highest < c.last, err
	}
	ids, err := c.table.unused(ctx, q, 4*max(crowd, c.among))
	c.unused = slices.DeleteFunc(ids, func(id int64) bool { return c.locked[id] })
	return len(c.unused) > 0, err
}
