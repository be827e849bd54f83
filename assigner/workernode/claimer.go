package workernode

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uidring/uidring/assigner"
)

// candidates is how many free rows are tried before the table is read again: as many processes can start at once without a second
// look.
const candidates = 64

// claimer is one Assign: what it wants, and what it has done so far without knowing the outcome.
type claimer struct {
	table
	node      node
	owner     string
	window    int64 // milliseconds
	maxWorker int64
	nonce     int64 // of every change that this Assign makes

	attempts []attempt // whose outcome is unknown
	fresh    int64     // a new worker id that has no row yet, or 0
}

// attempt is a change to a row, and where the window begins if it is made.
type attempt struct {
	mine row
	from int64
}

// claim tries once to get a worker id. A transient error leaves the claimer ready for another try.
func (c *claimer) claim(ctx context.Context) (*leasedClaim, error) {
	if err := c.checkSession(ctx); err != nil {
		return nil, err
	}
	if claim, err := c.resolve(ctx); claim != nil || err != nil {
		return claim, err
	}
	if err := c.checkLayout(ctx); err != nil {
		return nil, err
	}
	free, now, err := c.free(ctx, c.maxWorker, candidates)
	if err != nil {
		return nil, err
	}
	if len(free) == 0 {
		return c.grow(ctx, now)
	}
	for _, old := range free {
		claim, err := c.take(ctx, old, now)
		if claim != nil || err != nil {
			return claim, err
		}
	}
	// Others were faster everywhere: every row that was free got an owner. Or the rows come from a replica that lags, which shows
	// the same ones until it has caught up; so there is a pause before the next look.
	return nil, errLate
}

// resolve reads back the rows whose change broke off without an answer. One of them may be ours. A change that is still on its way
// may land later; its row then stays unused until its window has passed.
func (c *claimer) resolve(ctx context.Context) (*leasedClaim, error) {
	for len(c.attempts) > 0 {
		last := c.attempts[len(c.attempts)-1]
		found, _, err := c.find(ctx, last.mine.worker)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		c.attempts = c.attempts[:len(c.attempts)-1]
		if err == nil && found.is(last.mine) {
			return c.own(last.mine, last.from), nil
		}
	}
	return nil, nil
}

// take changes a free row into ours. It returns nil if somebody was faster.
func (c *claimer) take(ctx context.Context, old row, now int64) (*leasedClaim, error) {
	if known, ok := c.memory.row(old.worker); ok && old.behind(known) {
		return nil, c.refuse(ctx, &old, known, now)
	}
	// Anywhere from old.until on would do. Of a worker id that rested for long, the long past is not claimed: nobody needs it, and
	// a window that begins there would look days long.
	from := max(old.until, now-c.window, c.memory.begin())
	mine := row{
		worker:     old.worker,
		generation: old.generation + 1,
		nonce:      c.nonce,
		owner:      c.owner,
		until:      max(now, from) + c.window, // beyond old.until, which has passed by the same clock
	}
	c.attempts = append(c.attempts, attempt{mine, from})
	ok, err := c.swap(ctx, old, mine)
	if err != nil {
		return nil, err
	}
	c.attempts = c.attempts[:len(c.attempts)-1]
	if !ok {
		return nil, nil
	}
	return c.own(mine, from), nil
}

// refuse is the end of an Assign that finds a row behind what a claim of this process left there. The next one finds it mended.
func (c *claimer) refuse(ctx context.Context, found *row, known row, now int64) error {
	back, err := c.wentBack(ctx, found, known, now, c.window)
	if back == nil {
		return err
	}
	return &finalError{back} // whatever err is: if the row is not mended, the next one finds that too
}

// grow makes a row for a worker id that nobody had before.
func (c *claimer) grow(ctx context.Context, now int64) (*leasedClaim, error) {
	for {
		if c.fresh == 0 {
			if err := c.room(ctx, now); err != nil {
				return nil, err
			}
			id, err := c.newWorker(ctx, c.node)
			if err != nil {
				return nil, err
			}
			if id > c.maxWorker {
				return nil, final("%w: the new key of WORKER_NODE is %d, the layout's highest worker id is %d; wait for a worker id to be free, or "+
					"use a layout with more WorkerBits", assigner.ErrWorkersExhausted, id, c.maxWorker)
			}
			c.fresh = id
		}
		claim, err := c.plant(ctx, now)
		if claim != nil || err != nil {
			return claim, err // after an error c.fresh is kept: the same row is tried again
		}
		// Somebody has the row: a hand filled WORKER_LEASE without WORKER_NODE, or WORKER_NODE forgot its newest rows.
		if c.logger != nil {
			c.logger.Warn("new worker id has a lease already and is left alone; was WORKER_NODE restored from a backup?", "worker", c.fresh)
		}
		c.fresh = 0
	}
}

// plant adds the row of the fresh worker id. It returns nil if somebody else has one.
func (c *claimer) plant(ctx context.Context, now int64) (*leasedClaim, error) {
	if known, ok := c.memory.row(c.fresh); ok {
		if _, _, err := c.find(ctx, c.fresh); err == nil {
			return nil, nil
		} else if !errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		return nil, c.refuse(ctx, nil, known, now)
	}
	// Worker ids differ across namespaces too, and the key of the table does not see to that.
	if used, err := c.elsewhere(ctx, c.fresh); used || err != nil {
		return nil, err
	}
	from := c.memory.begin()
	mine := row{worker: c.fresh, generation: 1, nonce: c.nonce, owner: c.owner, until: max(now, from) + c.window}
	err := c.add(ctx, mine)
	if err != nil && c.dialect.classify(err) != duplicate {
		return nil, err
	}
	if err != nil {
		// The row is there. An earlier attempt of ours has made it, or it is another's.
		found, _, err := c.find(ctx, mine.worker)
		if err != nil {
			return nil, err
		}
		if found.nonce != c.nonce || found.generation != 1 {
			return nil, nil
		}
		mine = found
	}
	return c.own(mine, from), nil
}

// room returns an error if WORKER_NODE has no worker id left, without using one up: a fleet that waits for free worker ids must not
// fill the table.
func (c *claimer) room(ctx context.Context, now int64) error {
	var highest, next sql.NullInt64
	if err := c.row(ctx, "SELECT MAX(ID) FROM WORKER_NODE", nil, []any{&highest}); err != nil {
		return err
	}
	if highest.Int64 < c.maxWorker {
		return nil
	}
	err := c.row(ctx, "SELECT MIN(UNTIL_MS) FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID BETWEEN 0 AND ? AND LAYOUT = ?",
		[]any{c.namespace, c.maxWorker, c.layout}, []any{&next})
	if err != nil {
		return err
	}
	if !next.Valid {
		return final("%w: worker ids up to the highest, %d, are used by WORKER_NODE and none is namespace %q's to reuse; the layout "+
			"needs more WorkerBits", assigner.ErrWorkersExhausted, c.maxWorker, c.namespace)
	}
	return final("%w: all worker ids up to the highest, %d, are leased or used up; the next one of namespace %q is free in %v; "+
		"wait for it, or use a shorter Window or a layout with more WorkerBits", assigner.ErrWorkersExhausted, c.maxWorker, c.namespace,
		time.UnixMilli(next.Int64).Sub(time.UnixMilli(now))) // saturates
}

// own makes the claim on a row that is ours from the unix millisecond from on.
func (c *claimer) own(r row, from int64) *leasedClaim {
	claim := &leasedClaim{table: c.table, worker: r.worker, window: c.window, from: from, row: r}
	claim.until.Store(r.until)
	c.memory.note(r)
	return claim
}
