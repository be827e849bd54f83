package workernode

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/internal/sqldb"
)

// behind reports whether r, as it was found, cannot have come after known, a row that was there:
// fencing tokens grow, each is written once, and no owner leaves an end that is earlier than the
// one it found.
//
//	known        found            behind
//	token 7      token 6          yes: the table forgot a change
//	token 7      token 7, other   yes: it forgot one, and was changed anew
//	until 100    until 90         yes: an owner in between left an end that it must not leave
//	token 7      token 9          no: changes that came after
func (r row) behind(known row) bool {
	return r.token < known.token || r.token == known.token &&
		r.nonce != known.nonce || r.until < known.until
}

// limits is what a repair goes by, in Unix milliseconds.
type limits struct {
	beyond   int64 // every window of the namespace ends before it, forgotten ones included
	restored bool  // Restore has run since this process last had a change answered
	used     bool  // the worker id is not given out again without a row
}

// limits reads how far the windows of the namespace may end: the namespace's reach from the
// database's time, where Restore has windows begin, and what this process has found out before. It
// is read after the row was found, because windows that are forgotten were given out before that.
func (t table) limits(ctx context.Context, q *sqldb.Conn, worker int64) (l limits, err error) {
	var now int64
	var reach, floor, highest sql.NullInt64
	const one = "(SELECT UNTIL_MS FROM WORKER_LEASE WHERE NAMESPACE = ? AND WORKER_ID = ?)"
	err = q.Row(ctx, "SELECT {nowMillis}, "+one+", "+one,
		[]any{t.namespace, header, everywhere, header}, &now, &reach, &floor)
	if err == nil && t.shared() {
		highest.Int64, err = highestNode(ctx, q)
		// The counter of WORKER_NODE is beyond its highest row.
		l.used = highest.Int64 >= worker
	}
	l.beyond = max(now+max(t.reach, bounded(reach.Int64)), floor.Int64, t.memory.begin())
	l.restored = t.memory.restored(floor.Int64)
	return l, err
}

// repair makes a table that went back safe, as far as this process knows of it. It gives the row
// an end that no window of the namespace reaches, also not that of an owner which the table has
// forgotten: with a lower one, this process's own, a third owner could begin inside that window.
// The row has no owner then: an owner in between may have stamped what this process did, and must
// not go on. It returns what is there when it is done. ErrChanged means that the row is not what
// was found, as when it was read from a replica that lags.
//
// Where there is no row it inserts one, but in the namespace that shares WORKER_NODE only if the
// counter has forgotten the worker id too. It lowers no end: a row whose end is at or beyond the
// known one stays as it is.
//
// The INSERT and the UPDATE are those of every other change, a compare-and-set each, so a repair
// overwrites nothing that another process has written since the look.
func (t table) repair(ctx context.Context, q *sqldb.Conn, found *row, known row,
	l limits) (there row, err error) {
	there = row{worker: known.worker, token: known.token + 1, nonce: newNonce(),
		until: max(known.until, l.beyond)}
	switch {
	case found == nil && l.used:
		return there, t.missing(ctx, q, there)
	case found == nil:
		return there, t.insert(ctx, q, there)
	case found.until >= known.until:
		return *found, nil
	}
	// an overflow is harmless: the nonce tells rows apart as well
	there.token = max(found.token, known.token) + 1
	ok, err := t.swap(ctx, q, *found, there)
	if err == nil && !ok {
		err = sqldb.ErrChanged
	}
	return there, err
}

// insert is add, with ErrChanged where there is a row.
func (t table) insert(ctx context.Context, q *sqldb.Conn, r row) error {
	err := t.add(ctx, q, r)
	if err != nil && t.Failure(err) == sqldb.Duplicate {
		err = sqldb.ErrChanged
	}
	return err
}

// missing returns ErrChanged if there is a row with r's key. A SELECT may be answered by a replica
// that lags, so it asks the primary by an INSERT that is rolled back. If the process vanishes in
// between, nothing waits for the row but repairs of a row that is not there.
func (t table) missing(ctx context.Context, q *sqldb.Conn, r row) error {
	if _, err := q.Exec(ctx, "BEGIN"); err != nil {
		return err
	}
	if err := t.insert(ctx, q, r); err != nil {
		return err // Do rolls it back
	}
	_, err := q.Exec(ctx, "ROLLBACK")
	return err
}

// wentBack takes note of what the table may have forgotten, and returns the error that says so.
// there is the row as it was repaired, or nil if it was not. The error wraps assigner.ErrClaimLost,
// so that a generator takes another worker id, and assigner.ErrWentBack for the operator.
func (t table) wentBack(found *row, known row, there *row, l limits) error {
	is := "without a row"
	why := "a backup was restored, or a replica promoted that lacks the last changes"
	if found != nil {
		is = fmt.Sprintf("at fencing token %d of owner %q with UNTIL_MS %d",
			found.token, found.owner, found.until)
	} else {
		why += ", or the row was deleted"
	}
	if found != nil && found.token > known.token {
		why += ", and claimed from since, or a copy of this process gave the worker id back"
	}
	// Restore leaves rows without an owner and with an end that is beyond all windows, and a floor
	// that is. Where it has not run, no claim made here begins before all windows have ended that
	// may be forgotten.
	repaired := found != nil && found.owner == "" && found.until >= known.until
	if !repaired && !l.restored {
		t.memory.forgot(max(known.until, l.beyond))
	}
	// From here on the repaired row is what is expected of the table, so the next Assign does not
	// report it again.
	if there != nil {
		t.memory.note(*there)
	}
	return fmt.Errorf("%w: %w: %s has worker %d in namespace %q %s, it was at fencing token %d "+
		"with UNTIL_MS %d: %s; other worker ids and "+
		"windows may be given out twice; before more processes connect, run \"uid workers "+
		"restored\", see \"A restored backup\" in docs/reliability.md (%s)",
		assigner.ErrClaimLost, assigner.ErrWentBack, leaseTable, known.worker, t.namespace, is,
		known.token, known.until, why, t.Place())
}

// lostByTable ends the claim because its table went back. found is the row as it was read, nil if
// it is gone, known what it should be, there what repair left; err is what repairing the row ended
// with. A transient err leaves the claim to another attempt: the row is not repaired yet, and as
// long as it is not, another process could claim it and begin before this claim's end.
//
// A repair that found another row or was rolled back proves nothing: the row was read from a
// replica that lags, or on a member of a cluster that has not caught up.
func (c *leasedClaim) lostByTable(found *row, known, there row, l limits, err error) error {
	if errors.Is(err, sqldb.ErrChanged) || c.RolledBack(err) {
		return err
	}
	repaired := &there
	if err != nil || found == nil && l.used {
		repaired = nil
	}
	if back := c.wentBack(found, known, repaired, l); c.back == nil {
		c.back = back
	}
	if err != nil && c.Failure(err) == sqldb.Transient {
		return err // with c.back kept: the next look may find the row repaired
	}
	if c.lost = c.back; err != nil {
		c.lost = fmt.Errorf("%w; the row could not be repaired: %w", c.back, err)
	}
	return sqldb.Final(c.lost)
}

// behindError is a row that is behind what a claim of this process left there. It never leaves the
// package: refuse repairs the row and returns the error that callers get.
type behindError struct {
	found *row // as it is; nil: it is gone
	known row  // as the claim left it
}

// Error says which row it is. Callers of Assign get the error of refuse instead.
func (e *behindError) Error() string {
	return fmt.Sprintf("the row of worker %d went back", e.known.worker)
}

// refuse ends an Assign that finds a row behind what a claim of this process left there. It repairs
// the row, for the next Assign, and returns the error that says so: a process that knows that the
// table went back must not go on as if only this row had. ErrChanged is for another try, because a
// replica that lags shows old rows too, and so is a repair that was rolled back.
func (c *claimer) refuse(ctx context.Context, b *behindError) error {
	var there row
	var l limits
	err := c.Do(ctx, func(q *sqldb.Conn) (err error) {
		if l, err = c.limits(ctx, q, b.known.worker); err == nil {
			there, err = c.repair(ctx, q, b.found, b.known, l)
		}
		return err
	})
	repaired := &there
	switch {
	case l.beyond == 0 || errors.Is(err, sqldb.ErrChanged) || c.RolledBack(err):
		return err
	case err != nil || b.found == nil && l.used:
		repaired = nil // after an error, the next Assign finds the row as well
	}
	if b.known.worker == c.fresh {
		c.fresh = none // it is used up
	}
	return sqldb.Final(c.wentBack(b.found, b.known, repaired, l))
}
