package sqltable

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/uidring/uidring/internal/segbound"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// List returns the rows of the table, sorted by Tag. An ORDER BY would sort by the column's
// collation instead. It reads the whole table without a lock. Invalid rows are in the list.
func (t *table) List(ctx context.Context) ([]segment.Row, error) {
	if t.err != nil {
		return nil, t.err
	}
	// Invalid rows are listed too, so that an operator finds them here.
	var list []segment.Row
	err := t.db.Do(ctx, func(c *sqldb.Conn) error {
		return c.Each(ctx, func(rows *sql.Rows) error {
			var (
				tag string
				r   row
			)
			err := rows.Scan(&tag, &r.at, &r.step)
			list = append(list, segment.Row{Tag: tag, Next: t.next(r), Step: r.step})
			return err
		}, "SELECT "+t.tag+", "+t.at+", "+t.step+" FROM "+t.sql)
	})
	if err != nil {
		return nil, t.failed(err)
	}
	slices.SortFunc(list, func(a, b segment.Row) int { return strings.Compare(a.Tag, b.Tag) })
	return list, nil
}

// Find returns the row of a tag, with the first id of the next range as Next. It takes no lock, so
// a fetch of another process may be under way. A tag without a row is ErrUnknownTag.
func (t *table) Find(ctx context.Context, tag string) (segment.Row, error) {
	if t.err != nil {
		return segment.Row{}, t.err
	}
	if err := checkFetch(tag, 0, t.maxTag); err != nil {
		return segment.Row{}, err
	}
	var r row
	err := t.db.Do(ctx, func(c *sqldb.Conn) (err error) {
		r, err = t.read(ctx, c, tag, "")
		return err
	})
	if err != nil {
		return segment.Row{}, t.failed(err)
	}
	return segment.Row{Tag: tag, Next: t.next(r), Step: r.step}, nil
}

// Set creates or changes a tag. A change of the step keeps the first id of the next range. If the
// counter is a step behind, lowering the step alone would make the next range overlap the last one.
//
// It may run while processes fetch: its UPDATE and theirs lock the row in turn. It tries three
// times. Errors wrap segment.ErrOptions for a field that is out of range, and
// segment.ErrRangeWentBack for a Next below the counter. After an error of the database the change
// may be made; calling Set again with the same row does no harm.
func (t *table) Set(ctx context.Context, to segment.Row) error {
	if t.err != nil {
		return t.err
	}
	if err := t.checkRow(to); err != nil {
		return err
	}
	if err := t.examine(ctx); err != nil {
		return t.failed(err)
	}
	// Another attempt succeeds after a deadlock, or if two processes insert a row at the same time.
	// It does not help against wrong arguments.
	what := fmt.Sprintf("set tag %q in %s", to.Tag, t.name)
	return t.db.Few(ctx, what, func(ctx context.Context) error {
		err := t.db.Do(ctx, func(c *sqldb.Conn) error { return t.set(ctx, c, to) })
		switch {
		case errors.Is(err, segment.ErrOptions), errors.Is(err, segment.ErrRangeWentBack):
			return sqldb.Final(fmt.Errorf("sqltable: %s: %w", what, err))
		case sqldb.NotInCharset(err):
			return sqldb.Final(fmt.Errorf("sqltable: %s: %w: %w", what, segment.ErrOptions, err))
		case err != nil && t.db.Failure(err) == sqldb.Duplicate:
			// Another process inserted the row since, or the collation equates another tag.
			return fmt.Errorf("%w, or the table has a tag that its collation treats as equal: %w",
				sqldb.ErrChanged, err)
		}
		return err
	})
}

// set is one attempt of Set. It reads the row FOR UPDATE, so that it sees the current one. In a
// session that does not commit by itself the lock lasts until the change; elsewhere the condition
// of the UPDATE finds out whether the row has changed in between.
func (t *table) set(ctx context.Context, c *sqldb.Conn, to segment.Row) error {
	for range tries {
		now, err := t.read(ctx, c, to.Tag, c.ForUpdate)
		switch {
		case errors.Is(err, segment.ErrUnknownTag):
			return t.insert(ctx, c, to)
		case err != nil:
			return err
		}
		if err := t.change(ctx, c, now, to); !errors.Is(err, errNotSo) {
			return err
		}
	}
	return sqldb.ErrChanged
}

// insert creates a tag. If another process has inserted the row since, the key is a duplicate and
// Set tries again. The primary key on the tag is what keeps a tag from having two counters.
func (t *table) insert(ctx context.Context, c *sqldb.Conn, to segment.Row) error {
	if to.Step == 0 {
		return invalid("Step is 0, want 1 or more for a new tag")
	}
	at := t.first
	if to.Next > 0 {
		at = t.counter(to.Next, to.Step)
	}
	_, err := c.Exec(ctx,
		"INSERT INTO "+t.sql+" ("+t.tag+", "+t.at+", "+t.step+") VALUES (?, ?, ?)",
		to.Tag, at, to.Step)
	return err
}

// change changes the row of a tag from now, as it was read, to to. It also repairs a row with an
// invalid step. If the row's counter is a step behind, the row does not tell where the last range
// ends, so the repair needs a first id (Next).
//
// The statement does not write back the counter that was read, so fetches of other processes come
// before or after it. Its condition is that the row's step is as it was read, and that Next, if
// given, lies above the last range. change returns errNotSo if the condition does not hold, and
// nil without a statement if there is nothing to change.
func (t *table) change(ctx context.Context, c *sqldb.Conn, now row, to segment.Row) error {
	useless := now.step < 1 || now.step > segbound.Span
	step := cmp.Or(to.Step, now.step)
	switch {
	case useless && to.Step == 0:
		return invalid("Step is 0, want 1 or more: the row has %d", now.step)
	case useless && t.ahead && to.Next == 0:
		return invalid("Next is 0, want it above every id in use: "+
			"with %s %d the row does not tell where its last range ends", t.step, now.step)
	case to.Next > 0 && to.Next < t.next(now) && !t.cycle:
		return fmt.Errorf("%w: Next is %d, want at least %d",
			segment.ErrRangeWentBack, to.Next, t.next(now))
	case step == now.step && (to.Next == 0 || to.Next == t.next(now)):
		return nil
	}
	at := t.at
	if d := t.counter(0, step) - t.counter(0, now.step); d != 0 {
		end := t.counter(math.MaxInt64, now.step) // an exhausted counter may lie above
		at = fmt.Sprint(
			"CASE WHEN ", t.at, " > ", end, " THEN ", end+d, " ELSE ", t.at, " + ", d, " END")
	}
	where := fmt.Sprint(t.touch, " WHERE ", t.is, " AND ", t.step, " = ", now.step)
	if to.Next > 0 {
		at = fmt.Sprint(t.counter(to.Next, step))
		if !t.cycle {
			where += fmt.Sprint(" AND ", t.at, " <= ", t.counter(to.Next, max(now.step, 0)))
		}
	}
	return one(c.Changed(ctx,
		fmt.Sprint("UPDATE ", t.sql, " SET ", t.at, " = ", at, ", ", t.step, " = ", step, where),
		to.Tag, to.Tag))
}

// Delete deletes the row of a tag if it equals r, and otherwise returns an error. One statement
// compares and deletes, so a range that a process fetches meanwhile is either part of r, or keeps
// the row. The counter of a period is refused, unless it is below the floor of its name.
func (t *table) Delete(ctx context.Context, r segment.Row) error {
	err := t.do(ctx, func(c *sqldb.Conn) error {
		if err := t.refuseDelete(ctx, c, r.Tag); err != nil {
			return err
		}
		return one(c.Changed(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s AND %s = %d AND %s = %d",
			t.sql, t.is, t.at, t.counter(r.Next, max(r.Step, 0)), t.step, r.Step), r.Tag, r.Tag))
	})
	if errors.Is(err, errNotSo) {
		return fmt.Errorf("sqltable: delete tag %q in %s: %w", r.Tag, t.name, sqldb.ErrChanged)
	}
	return err
}

// Return sets the counter back to the first id of rest if the next range would begin where rest
// ends: then no later range was handed out. One statement compares and sets, so a process that
// fetches at the same moment comes before, and rest is a gap, or after, and gets the ids of rest.
// After an error the outcome is unknown, which is why the caller must not use rest either way.
func (t *table) Return(ctx context.Context, tag string, rest segment.Range) (bool, error) {
	if err := rest.Validate(); err != nil {
		return false, fmt.Errorf("sqltable: %w", err)
	}
	if t.cycle {
		return false, nil // the counter may have cycled to the same value
	}
	ahead := "0"
	if t.ahead {
		ahead = t.step
	}
	err := t.do(ctx, func(c *sqldb.Conn) error {
		return one(c.Changed(ctx, fmt.Sprintf(
			"UPDATE %s SET %s = %s - %d%s WHERE %s AND %s = %d - %s",
			t.sql, t.at, t.at, rest.To-rest.From, t.touch, t.is, t.at, rest.To, ahead), tag, tag))
	})
	if errors.Is(err, errNotSo) {
		return false, nil
	}
	return err == nil, err
}

// checkRow checks the argument of Set.
func (t *table) checkRow(r segment.Row) error {
	if err := checkTag(r.Tag, t.maxTag); err != nil {
		return invalid("%v", err)
	}
	switch {
	case r.Next < 0:
		return invalid("Next is %d, want 0 or more", r.Next)
	case r.Step < 0 || r.Step > math.MaxInt32: // the columns are INT
		return invalid("Step is %d, want 0..%d", r.Step, math.MaxInt32)
	}
	return nil
}
