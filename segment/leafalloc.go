package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"gorm.io/gorm"
)

// LeafAllocOptions are the options of LeafAlloc. nil means the defaults.
type LeafAllocOptions struct {
	Table string // name of the table; "leaf_alloc" by default

	_ struct{} // keeps literals keyed
}

// maxTag is how many characters a tag may have: the width of leaf_alloc's biz_tag.
const maxTag = 128

// LeafAlloc returns the Source over Leaf's table leaf_alloc: a row per tag with max_id, the first id that was not handed
// out yet, and step. It uses the columns biz_tag, max_id and step, and update_time outside MySQL; a table that Leaf
// itself uses at the same time is fine, because both claim [max_id, max_id+step) by the same update.
//
// A Fetch is one statement: on MySQL and MariaDB "max_id = LAST_INSERT_ID(max_id + step)", whose result comes back with the
// update on the same connection; on PostgreSQL and SQLite an UPDATE with RETURNING; elsewhere, and where a trigger on the table
// hides LAST_INSERT_ID, a transaction with a row lock. Step 0 costs MySQL one more query. The first Fetch, and one after a
// failure, makes sure in a query of its own that MySQL keeps what it answers: autocommit is on, and max_id a BIGINT. The Source
// is a Lister, Finder, Setter, Returner and Checker; every method reports a wrong option, or a db that is a transaction.
func LeafAlloc(db *gorm.DB, opts *LeafAllocOptions) Source {
	if opts == nil {
		opts = &LeafAllocOptions{}
	}
	l := &leafAlloc{table: opts.Table}
	if l.table == "" {
		l.table = "leaf_alloc"
	}
	if l.err = checkDB("LeafAlloc: db", db); l.err != nil {
		return l
	}
	l.store = newStore(db)
	l.quoted = l.store.ident(l.table)
	return l
}

type leafAlloc struct {
	store  store
	table  string
	quoted string
	err    error // what is wrong with the options
	exam   examination
	guard  guard
}

// Fetch claims [max_id, max_id+step).
func (l *leafAlloc) Fetch(ctx context.Context, tag string, step int64) (Range, error) {
	if l.err != nil {
		return Range{}, l.err
	}
	if err := checkFetch(tag, step, maxTag); err != nil {
		return Range{}, err
	}
	return l.guard.fetch(ctx, tag, func() (Range, error) {
		r, err := l.advance(ctx, tag, step)
		if err != nil {
			l.exam.again(err)
			return Range{}, fmt.Errorf("segment: fetch tag %q from %s: %w", tag, l.table, err)
		}
		return r, nil
	})
}

// examine makes sure that the server keeps what it answers.
func (l *leafAlloc) examine(ctx context.Context) error {
	return l.exam.pass(ctx, l.store, l.table, "max_id")
}

func (l *leafAlloc) advance(ctx context.Context, tag string, step int64) (Range, error) {
	switch l.store.dialect {
	case dialectMySQL:
		if err := l.examine(ctx); err != nil {
			return Range{}, err
		}
		if !l.exam.mute.Load() {
			r, err := l.lastInsertID(ctx, tag, step)
			if !errors.Is(err, errMute) {
				return r, err
			}
			l.exam.mute.Store(true)
		}
	case dialectPostgres, dialectSQLite:
		return l.returning(ctx, tag, step)
	}
	return l.locked(ctx, tag, step)
}

// lastInsertID adds a step that this side knows, so that the new max_id alone tells the range. Another process may
// change the step column in between: the range is as long as was added, whatever the column says.
func (l *leafAlloc) lastInsertID(ctx context.Context, tag string, step int64) (Range, error) {
	var stored int64
	if step == 0 {
		var err error
		if _, stored, err = l.read(ctx, l.store, tag, ""); err != nil {
			return Range{}, err
		}
		step = stored
	}
	res, err := l.store.exec(ctx, "UPDATE "+l.quoted+" SET max_id = LAST_INSERT_ID(max_id + ?) WHERE biz_tag = ? AND max_id BETWEEN 0 AND ?", step, tag, maxInt64-step)
	if err != nil {
		return Range{}, err
	}
	switch n, err := affected(res); {
	case err != nil || n == 0:
		return Range{}, l.refused(ctx, tag, step, err)
	case n > 1: // and the value is that of the row that happened to be the last
		return Range{}, errTwoRows
	}
	to, err := res.LastInsertId()
	switch {
	case err != nil:
		return Range{}, err
	case to == 0: // which no max_id is after a step
		return Range{}, errMute
	}
	return Range{From: to - step, To: to, Step: stored}, nil
}

// returning adds a step and reads max_id and the step column back in the same statement.
func (l *leafAlloc) returning(ctx context.Context, tag string, step int64) (Range, error) {
	add, cond, args := "CAST(step AS BIGINT)", fmt.Sprint(" AND step BETWEEN 1 AND ", maxSpan), []any{tag}
	if step > 0 {
		add, cond, args = "CAST(? AS BIGINT)", "", []any{step, tag, step}
	}
	var to, stored int64
	err := l.store.row(ctx, "UPDATE "+l.quoted+" SET max_id = max_id + "+add+l.store.setTime()+
		" WHERE biz_tag = ? AND max_id BETWEEN 0 AND 9223372036854775807 - "+add+cond+" RETURNING max_id, step", args, &to, &stored)
	if errors.Is(err, sql.ErrNoRows) {
		return Range{}, l.refused(ctx, tag, step, nil)
	}
	if err != nil {
		return Range{}, err
	}
	if step == 0 {
		step = stored
	}
	return Range{From: to - step, To: to, Step: max(stored, 0)}, nil
}

// locked holds the row's lock from the read to the write, which names the row as it was read: a table without transactions
// has no lock to hold.
func (l *leafAlloc) locked(ctx context.Context, tag string, step int64) (Range, error) {
	var r Range
	err := l.store.inTx(ctx, func(tx store) error {
		from, stored, err := l.read(ctx, tx, tag, tx.forUpdate())
		if err != nil {
			return err
		}
		if step == 0 {
			step = stored
		}
		if from > maxInt64-step {
			return exhausted(from, step)
		}
		r = Range{From: from, To: from + step, Step: stored}
		return moved(tx.exec(ctx, "UPDATE "+l.quoted+" SET max_id = ?"+tx.setTime()+" WHERE biz_tag = ? AND max_id = ?", r.To, tag, from))
	})
	if err != nil {
		return Range{}, err
	}
	return r, nil
}

// read returns the tag's row as it stands, or locked by suffix.
func (l *leafAlloc) read(ctx context.Context, s store, tag, suffix string) (maxID, step int64, err error) {
	err = s.row(ctx, "SELECT max_id, step FROM "+l.quoted+" WHERE biz_tag = ?"+suffix, []any{tag}, &maxID, &step)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, unknownTag(tag, l.table)
	}
	if err == nil && (step < 1 || step > maxSpan || maxID < 0) {
		err = fmt.Errorf("%w: the row's step is %d and its max_id %d, want 1..%d and 0 or more", ErrBadRange, step, maxID, maxSpan)
	}
	return maxID, step, err
}

// refused says why the update changed no row. err is what kept the number of changed rows secret, or nil.
func (l *leafAlloc) refused(ctx context.Context, tag string, step int64, err error) error {
	if err != nil {
		return err
	}
	maxID, stored, err := l.read(ctx, l.store, tag, "")
	if err != nil {
		return err
	}
	if step == 0 {
		step = stored
	}
	if maxID <= maxInt64-step {
		return fmt.Errorf("segment: the row appeared or changed while it was updated: max_id is %d", maxID)
	}
	return exhausted(maxID, step)
}

// exhausted is ErrExhausted with the counter's position and the step that no longer fits.
func exhausted(next, step int64) error {
	return fmt.Errorf("%w: %d ids from %d on pass %d", ErrExhausted, step, next, maxInt64)
}

// List returns the rows of the table.
func (l *leafAlloc) List(ctx context.Context) ([]Row, error) {
	if l.err != nil {
		return nil, l.err
	}
	rows, err := l.store.list(ctx, "SELECT biz_tag, max_id, step FROM "+l.quoted)
	if err != nil {
		return nil, fmt.Errorf("segment: list %s: %w", l.table, err)
	}
	return rows, nil
}

// Find returns the tag's row.
func (l *leafAlloc) Find(ctx context.Context, tag string) (Row, error) {
	if l.err != nil {
		return Row{}, l.err
	}
	if err := checkFetch(tag, 0, maxTag); err != nil {
		return Row{}, err
	}
	maxID, step, err := l.read(ctx, l.store, tag, "")
	if err != nil {
		return Row{}, fmt.Errorf("segment: find tag %q in %s: %w", tag, l.table, err)
	}
	return Row{Tag: tag, Next: maxID, Step: step}, nil
}

// Set makes or changes the tag. A new tag starts at row.Next, or at 1.
func (l *leafAlloc) Set(ctx context.Context, row Row) error {
	if l.err != nil {
		return l.err
	}
	if err := checkRow(row, maxTag); err != nil {
		return err
	}
	if err := l.set(ctx, row); err != nil {
		return fmt.Errorf("segment: set tag %q in %s: %w", row.Tag, l.table, err)
	}
	return nil
}

func (l *leafAlloc) set(ctx context.Context, row Row) error {
	if err := l.examine(ctx); err != nil {
		return err
	}
	maxID, _, err := l.read(ctx, l.store, row.Tag, "")
	if errors.Is(err, ErrUnknownTag) {
		if row.Step == 0 {
			return fmt.Errorf("%w: Step is 0, want 1 or more for a new tag", ErrOptions)
		}
		_, err := l.store.exec(ctx, "INSERT INTO "+l.quoted+" (biz_tag, max_id, step) VALUES (?, ?, ?)", row.Tag, max(row.Next, 1), row.Step)
		return err
	}
	if err != nil && !errors.Is(err, ErrBadRange) { // a row with a useless step is what Set is there to repair
		return err
	}
	if row.Next > 0 && row.Next != maxID {
		res, err := l.store.exec(ctx, "UPDATE "+l.quoted+" SET max_id = ? WHERE biz_tag = ? AND max_id < ?", row.Next, row.Tag, row.Next)
		if err != nil {
			return err
		}
		if n, err := affected(res); err != nil || n == 0 {
			return errors.Join(err, fmt.Errorf("%w: Next is %d, want at least max_id, which is %d or more", ErrRangeWentBack, row.Next, maxID))
		}
	}
	if row.Step > 0 {
		_, err = l.store.exec(ctx, "UPDATE "+l.quoted+" SET step = ? WHERE biz_tag = ?", row.Step, row.Tag)
		return err
	}
	return nil
}

// Return lowers max_id from rest.To to rest.From, if it still is rest.To: then no later range exists.
func (l *leafAlloc) Return(ctx context.Context, tag string, rest Range) (bool, error) {
	if l.err != nil {
		return false, l.err
	}
	if err := rest.validate(); err != nil {
		return false, fmt.Errorf("segment: return to tag %q: %w", tag, err)
	}
	return l.guard.restore(ctx, tag, rest, func() (bool, error) {
		res, err := l.store.exec(ctx, "UPDATE "+l.quoted+" SET max_id = ? WHERE biz_tag = ? AND max_id = ?", rest.From, tag, rest.To)
		if err != nil {
			return false, fmt.Errorf("segment: return %v of tag %q to %s: %w", rest, tag, l.table, err)
		}
		n, err := affected(res)
		return n == 1, err
	})
}

// Check reports whether the table can be read and written.
func (l *leafAlloc) Check(ctx context.Context) error {
	if l.err != nil {
		return l.err
	}
	l.exam.again(nil)
	if err := l.examine(ctx); err != nil {
		return fmt.Errorf("segment: check table %s: %w", l.table, err)
	}
	return l.store.probe(ctx, l.table, "SELECT max_id, step FROM "+l.quoted+" WHERE biz_tag = ''", "UPDATE "+l.quoted+" SET max_id = max_id WHERE biz_tag = '' AND 1 = 0")
}
