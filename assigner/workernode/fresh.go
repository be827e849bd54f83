package workernode

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
)

// lowest is how many unused worker ids of a namespace are looked for when many processes take one
// at the same time. Each takes one of them at random, so few of them meet. Looking for more than
// one costs no further statement, because unused reads whole pages and stops at the first with a
// gap. The price is that worker ids are not used strictly from the lowest on while a fleet starts.
const lowest = 64

// newRow inserts the row of a new worker id. It returns nil if the worker id has a row already:
// another process took it, WORKER_LEASE was filled by hand, or WORKER_NODE forgot its newest rows.
// claim then calls it again, for another worker id.
//
// The worker id is chosen and its row inserted in two steps on the database, because a key of
// WORKER_NODE has to be committed before anything is built on it. Two processes that choose one
// worker id find out at the primary key of WORKER_LEASE: one INSERT fails.
//
// A process that dies after the first step has used up a key of WORKER_NODE. One that dies after
// the second has reserved a window that nobody stamps in. An Assign that ends there keeps the key
// for the next one of the same Assigner: see spare.
func (c *claimer) newRow(ctx context.Context) (*attempt, error) {
	if err := c.newID(ctx); err != nil {
		return nil, err
	}
	got, err := c.insert(ctx)
	if err != nil {
		return nil, err // c.fresh is kept: the same row is tried again
	}
	if got == nil && c.shared() {
		warnLeased(c.Logger(), c.fresh)
	}
	c.crowd = got == nil // another process takes new worker ids, so choose among several
	c.fresh = none
	return got, nil
}

// newID sets fresh to a worker id that has no row: a key of WORKER_NODE, or where the namespace
// counts for itself one of the lowest. A worker id that an earlier try has chosen is kept, so that
// tries do not use worker ids up. An INSERT into WORKER_NODE whose answer is lost does use one up:
// the key is unknown, and a key that the database has generated is never generated again.
func (c *claimer) newID(ctx context.Context) error {
	if !c.shared() && c.fresh != none {
		return nil
	}
	return c.Do(ctx, func(q *sqldb.Conn) (err error) {
		if !c.shared() {
			return c.room(ctx, q)
		}
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
		// key is used up all the same.
		if id := c.fresh; id > c.last {
			c.fresh = none
			return final("%w: the new key of WORKER_NODE is %d, the highest worker id is %d; "+
				"wait for a worker id to be free, or use a Namespace of your own or a layout "+
				"with more WorkerBits",
				assigner.ErrWorkersExhausted, id, c.last)
		}
		return nil
	})
}

// insert adds the row of the fresh worker id. It returns nil if another process has one. A row that
// an earlier try has inserted without getting the answer is found by its nonce.
//
// The window of a worker id without a row begins at the beginning of time, but for what Restore has
// written (the floor) and windows that this process knows to be forgotten. That is right only
// because no row is ever deleted: a worker id without one was never leased. For a key of
// WORKER_NODE it is right because no other start gets the key.
//
// In the namespace that shares WORKER_NODE the floor does not count, because Restore moves the next
// key above every worker id that was used.
func (c *claimer) insert(ctx context.Context) (got *attempt, err error) {
	err = c.Do(ctx, func(q *sqldb.Conn) error {
		// A claim of this process had a row here, so its absence means that the table went back.
		if known, ok := c.memory.row(c.fresh); ok {
			found, now, err := c.find(ctx, q, c.fresh)
			if found == nil && err == nil {
				err = &behindError{nil, known, now}
			}
			return err
		}
		// The namespace's first row settles its layout, so the layout has to be committed.
		if err := c.look(ctx, q, q.ForUpdate); err != nil {
			return err
		}
		// Windows that the table has forgotten may be of any worker id, of this one too.
		from := c.memory.begin()
		if !c.shared() {
			from = max(from, c.floor)
		}
		mine := row{worker: c.fresh, token: 1, nonce: c.nonce, owner: c.owner,
			until: c.end(max(c.now, from) + c.window)}
		err := c.add(ctx, q, mine)
		if err != nil && c.Failure(err) == sqldb.Duplicate {
			// The row is there. An earlier attempt of ours has made it, or it is another's: of
			// another Assign, which has another nonce, or of an owner that came after it, with a
			// higher token.
			found, _, err := c.find(ctx, q, c.fresh)
			if found == nil || found.nonce != c.nonce || found.token != 1 {
				return err
			}
			mine = *found
		} else if err != nil {
			return err
		}
		got = &attempt{mine: mine, from: from}
		return nil
	})
	return got, err
}

// room returns an error if no new worker id is left, without using one up: a fleet that waits for
// free worker ids must not fill the tables. Where the namespace counts for itself it sets fresh. It
// reads without locks, so another process may take the last one meanwhile; newRow finds that out.
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

// newLeft reports whether there are new worker ids. In a namespace that counts for itself it sets
// fresh to one: the lowest, or in a crowd a random one of the lowest. In the shared one it compares
// the highest key of WORKER_NODE with the range, which is a bound and not a promise: the next key
// may skip some.
func (c *claimer) newLeft(ctx context.Context, q *sqldb.Conn) (bool, error) {
	if c.shared() {
		highest, err := highestNode(ctx, q)
		return highest < c.last, err
	}
	// Alone, the lowest: worker ids then stay dense, and fit the narrowest layout.
	n := 1
	if c.crowd {
		n = lowest
	}
	ids, err := c.unused(ctx, q, n)
	if len(ids) > 0 {
		c.fresh = ids[rand.IntN(len(ids))]
	}
	return len(ids) > 0, err
}
