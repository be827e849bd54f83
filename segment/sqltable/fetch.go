package sqltable

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// Fetch advances the counter and returns the range that it passed. The advance is committed before
// Fetch returns. If Fetch fails, the outcome is unknown: the range is a gap, or was not claimed.
//
// It blocks until the database answers or ctx ends, and tries nothing again but what claimRead
// does: a Generator repeats it. The row is locked by one UPDATE, until it is committed, so
// processes that fetch from one tag wait for each other that long. Errors wrap
// segment.ErrUnknownTag, ErrExhausted, ErrBadRange or ErrOptions where they are that, and else the
// database's.
func (t *table) Fetch(ctx context.Context, tag string, step int64) (r segment.Range, err error) {
	if t.err != nil {
		return r, t.err
	}
	if err := checkFetch(tag, step, t.maxTag); err != nil {
		return r, err
	}
	err = t.do(ctx, func(c *sqldb.Conn) (err error) {
		r, err = t.claim(ctx, c, tag, step)
		return err
	})
	if err != nil { // possibly of the commit, after r was set
		return segment.Range{}, err
	}
	return r, nil
}

// claim advances the counter of a tag by ids, or by the step of its row if ids is 0. If the table
// hands out blocks, it rounds ids up to whole ones. It reads the row first unless the number of ids
// is known: then one statement does it all, and the row is read only to tell why it failed.
func (t *table) claim(
	ctx context.Context, c *sqldb.Conn, tag string, ids int64,
) (segment.Range, error) {
	if ids > 0 && !t.blocks && !t.hidden.Load() {
		r, err := t.advance(ctx, c, tag, ids, 0)
		if !errors.Is(err, errNotSo) {
			return r, err
		}
	}
	return t.claimRead(ctx, c, tag, ids)
}

// tries is how often a row is read again because other processes change it. Each time another
// process has got its range, so twenty in a row say that the tag is very busy or that its step
// keeps changing. The attempt then fails, and a Generator pauses before the next.
const tries = 20

// errNotSo says that no row met a statement's condition, so nothing was changed.
var errNotSo = errors.New("no such row")

// claimRead is claim with a read of the row first: for a row whose step is needed, or that has no
// room for the ids. The statement that advances the counter requires that the row's step is as it
// was read. If another process has changed it, the row is read again with a lock, which shows the
// current row even to a session that reads from a snapshot.
//
//	read step, counter ──► length: how many ids ──► advance ... WHERE step is as read ──► range
//	       ▲                                                  │ no row
//	       └──────────── read FOR UPDATE ◄────────────────────┘
//
// The first read takes no lock: mostly the row is as it was, and a lock would be held for a round
// trip in a session without autocommit.
func (t *table) claimRead(
	ctx context.Context, c *sqldb.Conn, tag string, ids int64,
) (segment.Range, error) {
	lock := ""
	for range tries {
		now, err := t.read(ctx, c, tag, lock)
		if err != nil {
			return segment.Range{}, err
		}
		n, err := t.length(now, ids)
		if err != nil {
			return segment.Range{}, err
		}
		claim := func() (segment.Range, error) { return t.advance(ctx, c, tag, n, now.step) }
		if t.hidden.Load() {
			claim = func() (segment.Range, error) { return t.replace(ctx, c, tag, n, now) }
		}
		r, err := claim()
		if !errors.Is(err, errNotSo) {
			return r, err
		}
		lock = c.ForUpdate
	}
	return segment.Range{}, sqldb.ErrChanged
}

// length returns how many ids to take from a row that was read, or why it has none. It is
// arithmetic on what was read; the statement that follows checks the row again. No sum in it
// overflows: room is what is left below the largest int64.
func (t *table) length(now row, ids int64) (int64, error) {
	if now.step < 1 || now.step > segbound.Span || t.next(now) < 0 {
		return 0, fmt.Errorf("%w: %s is %d and %s is %d, want 1..%d and no id below 0",
			segment.ErrBadRange, t.step, now.step, t.at, now.at, segbound.Span)
	}
	// Whole blocks, rounded up, or exactly the ids that were asked for. Near its end a counter
	// hands out single blocks.
	n, room := now.step, math.MaxInt64-t.next(now)
	switch {
	case t.blocks:
		n *= max(min((ids+n-1)/n, segbound.Span/n), 1)
		if n > room {
			n = now.step
		}
	case ids > 0:
		n = ids
	}
	if n > room && !t.cycle {
		return 0, fmt.Errorf("%w: %d ids from %d on pass %d",
			segment.ErrExhausted, n, t.next(now), int64(math.MaxInt64))
	}
	return n, nil
}

// advance adds n to the counter of a tag in one statement that answers with the end of the range.
// A cyclic counter without room begins again. advance returns errNotSo if the tag has no row with
// room and with this step; a step of 0 matches every valid one.
//
// The answer is the end because that is never 0. An answer of 0 says that a trigger on the table
// hides the value of LAST_INSERT_ID. The range is then a gap, and later fetches use replace.
func (t *table) advance(
	ctx context.Context, c *sqldb.Conn, tag string, n, step int64,
) (segment.Range, error) {
	ahead := t.next(row{step: step})
	end := fmt.Sprint(t.at, " + ", n+ahead)
	least, most := -ahead, math.MaxInt64-n-ahead // bounds of the counter, so that no sum overflows
	if t.cycle {
		end = fmt.Sprint("CASE WHEN ", t.at, " > ", most, " THEN ", n+ahead, " ELSE ", end, " END")
		most = math.MaxInt64
	}
	where := fmt.Sprint(t.touch, " WHERE ", t.is, " AND ", t.at, " BETWEEN ", least, " AND ", most)
	if step > 0 {
		where += fmt.Sprint(" AND ", t.step, " = ", step)
	} else { // a row that was edited to an invalid step gives no range
		where += fmt.Sprint(" AND ", t.step, " BETWEEN 1 AND ", segbound.Span)
	}
	to, err := t.answer(ctx, c, end, fmt.Sprint(ahead), where, tag)
	if err != nil {
		return segment.Range{}, err
	}
	return segment.Range{From: to - n, To: to, Step: step, Cyclic: t.cycle}, nil
}

// answer sets the counter of a tag to end-ahead, if the condition where holds, and returns end. The
// arguments are SQL expressions, made of column names and numbers of this package; the tag alone
// comes from outside, and is an argument of the statement.
//
// PostgreSQL and SQLite return the value with RETURNING. MySQL has no RETURNING for an UPDATE, so
// the value goes through LAST_INSERT_ID(expr), which the server keeps for the session and sends
// with the statement's answer: no other session can change it. sqldb.Conn's Advance compares it
// with the row once for each database, because some servers of MySQL's dialect answer with another
// value.
func (t *table) answer(
	ctx context.Context, c *sqldb.Conn, end, ahead, where, tag string,
) (to int64, err error) {
	if t.db.Name != "mysql" {
		err := c.Row(ctx, "UPDATE "+t.sql+" SET "+t.at+" = "+end+" - "+ahead+where+
			" RETURNING "+t.at+" + "+ahead, []any{tag, tag}, &to)
		if errors.Is(err, sql.ErrNoRows) {
			err = errNotSo
		}
		return to, err
	}
	rows, to, err := c.Advance(ctx,
		"UPDATE "+t.sql+" SET "+t.at+" = LAST_INSERT_ID("+end+") - "+ahead+where,
		"SELECT "+t.at+" + "+ahead+" FROM "+t.sql+" WHERE "+t.is, tag, tag)
	if err := one(rows, err); err != nil {
		return 0, err
	}
	if to == 0 {
		t.hidden.Store(true)
		return 0, errNotSo // claimRead tries again, with replace
	}
	return to, nil
}

// replace is advance by compare-and-set, without LAST_INSERT_ID. It returns errNotSo if the row is
// not as it was read. Of several processes that have read one counter only one succeeds, so it is
// used only where a trigger hides the answer of advance.
func (t *table) replace(
	ctx context.Context, c *sqldb.Conn, tag string, n int64, now row,
) (segment.Range, error) {
	from := now
	if n > math.MaxInt64-t.next(now) {
		from.at = 0 // the counter cycles
	}
	err := one(c.Changed(ctx, fmt.Sprintf(
		"UPDATE %s SET %s = %d%s WHERE %s AND %s = %d AND %s = %d",
		t.sql, t.at, from.at+n, t.touch, t.is, t.at, now.at, t.step, now.step), tag, tag))
	if err != nil {
		return segment.Range{}, err
	}
	to := t.next(from) + n
	return segment.Range{From: to - n, To: to, Step: now.step, Cyclic: t.cycle}, nil
}

// one returns nil if a statement with the result n and err changed exactly one row. More than one
// says that the table has no unique key on its tag: two rows would hand out the same ids.
func one(n int64, err error) error {
	switch {
	case err != nil:
		return err
	case n == 0:
		return errNotSo
	case n > 1:
		return sqldb.ErrTwoRows
	}
	return nil
}
