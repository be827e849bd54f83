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

// moved is the table of the tags that have moved away.
const moved = "segment_moved"

// Move moves a tag from one database to another, while programs fetch from either: its counter in
// from is put at the end, and the one in to begins where it was. place names the database of to,
// always in the same words. Both sources are LeafAlloc or Sequence, and both databases have the
// table segment_moved.
//
// Move may be interrupted at any point, and called again with the same arguments goes on where it
// stopped. It returns the row in to. A tag that to has already, with ids left, is
// segment.ErrOptions, as is one that is on its way to another place. Programs that use from only
// get segment.ErrExhausted from then on. The row in from stays, so that the tag does not begin
// anew there.
//
// # Why no id is given twice
//
// The counter that to begins at is in segment_moved, in the database of from, before the counter
// there is put at its end: the statement that does that requires that the counter is not above it.
// It never falls, so it is at or above what was sealed, whichever call of Move sealed it. It names
// one place, so of calls with different places one can seal. A counter at its end is opened again
// only by a Move to it, which first puts its own counter and no place into the note there, unless
// that has a higher one: then the tag has been there and gone on, and the call is refused. The
// statement that opens requires the note as it wrote it.
//
// The new counter begins where the old one was, or above: while programs fetch, some ids are left
// out, as many as it took to be ahead of them.
func Move(
	ctx context.Context, tag string, from, to segment.Source, place string,
) (segment.Row, error) {
	return move(ctx, tag, from, to, place, func(string) error { return nil })
}

// move is Move. It calls after when a step is done, and ends with its error.
func move(
	ctx context.Context, tag string, from, to segment.Source, place string,
	after func(step string) error,
) (segment.Row, error) {
	f, okFrom := from.(*table)
	t, okTo := to.(*table)
	switch {
	case !okFrom || !okTo:
		return segment.Row{}, invalid("move tag %q from a %T to a %T, want LeafAlloc or "+
			"Sequence", tag, from, to)
	case f.cycle || t.cycle:
		return segment.Row{}, invalid("Cycle is true, and a counter that moves must not repeat")
	case f.elsewhere() || t.elsewhere():
		return segment.Row{}, invalid("the tables are %q and %q, want them without a schema: "+
			"notes of moves are in segment_moved of the current one", f.name, t.name)
	case place == "" || len(place) > 255:
		return segment.Row{}, invalid("place has %d characters, want 1..255", len(place))
	}
	for try := range tries {
		row, err := f.Find(ctx, tag)
		if err != nil {
			return row, err
		}
		if row.Next < math.MaxInt64 {
			ahead := int64(0)
			if try > 0 && row.Step > 0 {
				ahead = min(row.Step<<try, segbound.Span, math.MaxInt64-1-row.Next)
			}
			err := f.seal(ctx, t, row, row.Next+ahead, place, after)
			if errors.Is(err, errNotSo) { // the counter has moved on
				continue
			}
			if err != nil {
				return row, err
			}
		}
		next, err := f.goes(ctx, tag, place)
		if err != nil {
			return row, err
		}
		return t.receive(ctx, segment.Row{Tag: tag, Next: next, Step: row.Step}, after)
	}
	return segment.Row{}, fmt.Errorf("sqltable: move tag %q: %w", tag, sqldb.ErrChanged)
}

// seal puts the counter of a tag at its end, if it is not above next and its step is that of row.
// It writes down before that the tag goes to place, with the counter next.
func (t *table) seal(
	ctx context.Context, to *table, row segment.Row, next int64, place string,
	after func(string) error,
) error {
	there, err := to.Find(ctx, row.Tag)
	switch {
	case err == nil && there.Next < math.MaxInt64:
		return invalid("%s has the tag %q too, and its next id is %d: two counters of one tag "+
			"may have given equal ids", place, row.Tag, there.Next)
	case err != nil && !errors.Is(err, segment.ErrUnknownTag):
		return err
	case row.Step < 1 || row.Step > segbound.Span:
		return invalid("the step of tag %q is %d, want 1..%d", row.Tag, row.Step, segbound.Span)
	}
	err = t.do(ctx, func(c *sqldb.Conn) error {
		if err := c.RequireKey(ctx, moved, "tag"); err != nil {
			return err
		}
		if err := t.refuseDelete(ctx, c, row.Tag); err != nil { // it would begin anew
			return err
		}
		_, err := c.Exec(ctx, "INSERT INTO "+moved+" (tag, counters, place, next_id)"+
			" VALUES (?, ?, ?, ?)", row.Tag, t.name, place, next)
		return err
	})
	if err != nil && t.db.Failure(err) == sqldb.Duplicate {
		err = t.do(ctx, func(c *sqldb.Conn) error {
			_, err := c.Exec(ctx, fmt.Sprintf("UPDATE %s SET place = ?, next_id = CASE"+
				" WHEN next_id < %d THEN %d ELSE next_id END WHERE tag = ? AND counters = ? AND"+
				" place IN (?, '')", moved, next, next),
				place, row.Tag, t.name, place)
			return err
		})
	}
	if err != nil {
		return err
	}
	if _, err := t.goes(ctx, row.Tag, place); err != nil {
		return err
	}
	if err := after("noted"); err != nil {
		return err
	}
	err = t.do(ctx, func(c *sqldb.Conn) error {
		return one(c.Changed(ctx, fmt.Sprintf("UPDATE %s SET %s = %d%s WHERE %s AND %s <= %d AND"+
			" %s = %d AND EXISTS (SELECT 1 FROM %s WHERE %s.tag = ? AND %s.place = ? AND"+
			" %s.next_id >= %d)", t.sql, t.at, t.counter(math.MaxInt64, row.Step), t.touch, t.is,
			t.at, t.counter(next, row.Step), t.step, row.Step, moved, moved, moved, moved, next),
			row.Tag, row.Tag, row.Tag, place))
	})
	if err != nil {
		return err
	}
	return after("sealed")
}

// goes returns the counter that a tag which moves to place begins at there.
func (t *table) goes(ctx context.Context, tag, place string) (next int64, err error) {
	var where, counters string
	err = t.do(ctx, func(c *sqldb.Conn) error {
		return c.Row(ctx, "SELECT place, counters, next_id FROM "+moved+" WHERE tag = ?"+
			c.ForUpdate, []any{tag}, &where, &counters, &next)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("sqltable: %w: the counter of tag %q is at its end, and not because "+
			"it moved to %s", segment.ErrExhausted, tag, place)
	case err != nil:
		return 0, err
	case place == "" && where != "" && counters == t.name:
		return 0, invalid("the tag %q has been here and gone on to %q since: this move is an "+
			"old one", tag, where)
	case where != place || counters != t.name:
		return 0, invalid("the tag %q of table %s goes to %q, not to %q: finish that move first",
			tag, counters, where, place)
	}
	return next, nil
}

// receive makes the counter of a tag that moves here, or opens one that is at its end because the
// tag moved away before. One that is at row.Next or above was made by an earlier call.
func (t *table) receive(
	ctx context.Context, row segment.Row, after func(string) error,
) (segment.Row, error) {
	there, err := t.Find(ctx, row.Tag)
	if err == nil && there.Next == math.MaxInt64 {
		err = t.reopen(ctx, row, there, after)
	} else if err == nil && there.Next >= row.Next {
		return there, nil
	} else if err == nil || errors.Is(err, segment.ErrUnknownTag) {
		err = t.Set(ctx, row)
	}
	if errors.Is(err, segment.ErrRangeWentBack) || errors.Is(err, errNotSo) {
		err = nil // another call was first
	}
	if err == nil {
		err = after("received")
	}
	if err != nil {
		return segment.Row{}, err
	}
	there, err = t.Find(ctx, row.Tag)
	if err == nil && (there.Next < row.Next || there.Next == math.MaxInt64) {
		err = fmt.Errorf("sqltable: move tag %q: %w", row.Tag, sqldb.ErrChanged)
	}
	return there, err
}

// reopen opens the counter of a tag that is at its end, because it moved away before. The note then
// names no place: the tag is here.
func (t *table) reopen(
	ctx context.Context, row, there segment.Row, after func(string) error,
) error {
	err := t.do(ctx, func(c *sqldb.Conn) error {
		_, err := c.Exec(ctx, fmt.Sprintf("UPDATE %s SET place = '', next_id = %d WHERE tag = ?"+
			" AND counters = ? AND next_id <= %d", moved, row.Next, row.Next), row.Tag, t.name)
		return err
	})
	if err == nil {
		_, err = t.goes(ctx, row.Tag, "") // else the tag has gone on from here, above row.Next
	}
	if err == nil {
		err = after("forgotten")
	}
	if err != nil {
		return err
	}
	return t.do(ctx, func(c *sqldb.Conn) error {
		return one(c.Changed(ctx, fmt.Sprintf("UPDATE %s SET %s = %d, %s = %d%s WHERE %s AND"+
			" %s = %d AND EXISTS (SELECT 1 FROM %s WHERE %s.tag = ? AND %s.place = '' AND"+
			" %s.next_id = %d)", t.sql, t.at, t.counter(row.Next, row.Step), t.step, row.Step,
			t.touch, t.is, t.at, t.counter(math.MaxInt64, there.Step), moved, moved, moved, moved,
			row.Next), row.Tag, row.Tag, row.Tag))
	})
}
