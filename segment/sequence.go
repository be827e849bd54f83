package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"

	"gorm.io/gorm"
)

// SequenceOptions are the options of Sequence. nil means the defaults.
type SequenceOptions struct {
	Table string // name of the table; "t_sequence" by default

	// FromCurrent makes a block [old current_val, new current_val) instead of the original's [new current_val, new
	// current_val + increment_val), which never hands out the first block from 0 on, and whose blocks overlap when
	// increment_val is lowered by hand. All processes on the table have to agree, the original's included.
	FromCurrent bool

	// Cycle begins again at 0 when the counter is used up, inside the row's lock, instead of failing with ErrExhausted.
	// Ids repeat then, and ErrRangeWentBack is not found.
	Cycle bool

	_ struct{} // keeps literals keyed
}

// maxSequenceName is how many characters a name may have: the width of t_sequence's pk_seq_name.
const maxSequenceName = 50

// Sequence returns the Source over a table of named sequences, t_sequence(pk_seq_name, current_val, increment_val). A block
// is as long as the increment that the row stores, read and applied under the row's lock, so that processes cannot
// disagree about it; Fetch's step is ignored. With 0 and 1000 stored the first block is [1000, 2000), as in the original.
//
// A Fetch is one statement, as LeafAlloc's is: MySQL is told the increment that this side remembers and changes
// nothing when the row's is another. The first Fetch, and one after a failure, makes sure in a query of its own that MySQL
// keeps what it answers: autocommit is on, and current_val a BIGINT. The Source is a Lister, Finder, Setter, Returner and
// Checker; every method reports a wrong option, or a db that is a transaction.
func Sequence(db *gorm.DB, opts *SequenceOptions) Source {
	if opts == nil {
		opts = &SequenceOptions{}
	}
	s := &sequence{table: opts.Table, fromCurrent: opts.FromCurrent, cycle: opts.Cycle}
	if s.table == "" {
		s.table = "t_sequence"
	}
	if s.err = checkDB("Sequence: db", db); s.err != nil {
		return s
	}
	s.store = newStore(db)
	s.quoted = s.store.ident(s.table)
	return s
}

type sequence struct {
	store              store
	table, quoted      string
	fromCurrent, cycle bool
	err                error // what is wrong with the options
	exam               examination
	guard              guard
	increments         sync.Map // name -> int64: the increment last seen; names that exist only
}

// Fetch claims the next block.
func (s *sequence) Fetch(ctx context.Context, tag string, step int64) (Range, error) {
	if s.err != nil {
		return Range{}, s.err
	}
	if err := checkFetch(tag, step, maxSequenceName); err != nil {
		return Range{}, err
	}
	return s.guard.fetch(ctx, tag, func() (Range, error) {
		r, err := s.advance(ctx, tag)
		if err != nil {
			s.exam.again(err)
			return Range{}, fmt.Errorf("segment: fetch tag %q from %s: %w", tag, s.table, err)
		}
		return r, nil
	})
}

// examine makes sure that the server keeps what it answers.
func (s *sequence) examine(ctx context.Context) error {
	return s.exam.pass(ctx, s.store, s.table, "current_val")
}

func (s *sequence) advance(ctx context.Context, tag string) (Range, error) {
	switch s.store.dialect {
	case dialectMySQL:
		if err := s.examine(ctx); err != nil {
			return Range{}, err
		}
		if !s.exam.mute.Load() {
			r, err := s.lastInsertID(ctx, tag)
			if !errors.Is(err, errMute) {
				return r, err
			}
			s.exam.mute.Store(true)
		}
	case dialectPostgres, dialectSQLite:
		return s.returning(ctx, tag)
	}
	return s.locked(ctx, tag)
}

// block is the range that belongs to a counter that was advanced to after by inc.
func (s *sequence) block(after, inc int64) Range {
	from := after
	if s.fromCurrent {
		from -= inc
	}
	return Range{From: from, To: from + inc, Step: inc, Cyclic: s.cycle}
}

// room is how many increments the counter has to be below 2^63 for the next block to fit.
func (s *sequence) room() int64 {
	if s.fromCurrent {
		return 1
	}
	return 2
}

// lastInsertID tries the increment that it remembers; that the row stores the same one is part of the update's condition.
func (s *sequence) lastInsertID(ctx context.Context, tag string) (Range, error) {
	known, _ := s.increments.Load(tag)
	inc, _ := known.(int64)
	for range 3 {
		if inc > 0 {
			limit := maxInt64 - s.room()*inc
			set, cond, args := "current_val + ?", " AND current_val BETWEEN ? AND ?", []any{inc, tag, inc, -inc, limit}
			if s.cycle {
				set, cond, args = "CASE WHEN current_val > ? THEN ? ELSE current_val + ? END", " AND current_val >= ?", []any{limit, inc, inc, tag, inc, -inc}
			}
			res, err := s.store.exec(ctx, "UPDATE "+s.quoted+" SET current_val = LAST_INSERT_ID("+set+") WHERE pk_seq_name = ? AND increment_val = ?"+cond, args...)
			if err != nil {
				return Range{}, err
			}
			n, err := affected(res)
			if err != nil {
				return Range{}, err
			}
			if n == 1 {
				after, err := res.LastInsertId()
				if err == nil && after == 0 {
					err = s.heard(ctx, tag)
				}
				return s.block(after, inc), err
			}
		}
		current, stored, err := s.read(ctx, s.store, tag, "")
		if err != nil {
			s.increments.Delete(tag)
			return Range{}, err
		}
		if stored == inc && current > maxInt64-s.room()*inc {
			return Range{}, exhausted(current, inc)
		}
		inc = stored
		s.increments.Store(tag, inc)
	}
	return Range{}, fmt.Errorf("segment: increment_val changed three times while a block was claimed, last to %d", inc)
}

// heard returns errMute unless a counter that is said to have been advanced to 0 stands there, as one does that was below.
func (s *sequence) heard(ctx context.Context, tag string) error {
	current, _, err := s.read(ctx, s.store, tag, "")
	if err == nil && current != 0 {
		err = errMute
	}
	return err
}

// returning advances the counter by what the row stores and reads both back.
func (s *sequence) returning(ctx context.Context, tag string) (Range, error) {
	limit := fmt.Sprintf("9223372036854775807 - %d * CAST(increment_val AS BIGINT)", s.room())
	set, cond := "current_val + increment_val", " AND current_val <= "+limit
	if s.cycle {
		set, cond = "CASE WHEN current_val > "+limit+" THEN increment_val ELSE current_val + increment_val END", ""
	}
	var after, inc int64
	err := s.store.row(ctx, "UPDATE "+s.quoted+" SET current_val = "+set+" WHERE pk_seq_name = ? AND increment_val BETWEEN 1 AND 2147483648 AND current_val >= -increment_val"+cond+" RETURNING current_val, increment_val", []any{tag}, &after, &inc)
	if errors.Is(err, sql.ErrNoRows) {
		current, inc, err := s.read(ctx, s.store, tag, "")
		if err != nil {
			return Range{}, err
		}
		return Range{}, exhausted(current, inc)
	}
	if err != nil {
		return Range{}, err
	}
	return s.block(after, inc), nil
}

// locked holds the row's lock from the read to the write, the reset included. The write names the row as it was read: a table
// without transactions has no lock to hold.
func (s *sequence) locked(ctx context.Context, tag string) (Range, error) {
	var r Range
	err := s.store.inTx(ctx, func(tx store) error {
		current, inc, err := s.read(ctx, tx, tag, tx.forUpdate())
		if err != nil {
			return err
		}
		after := current + inc
		if current > maxInt64-s.room()*inc {
			if !s.cycle {
				return exhausted(current, inc)
			}
			after = inc
		}
		r = s.block(after, inc)
		return moved(tx.exec(ctx, "UPDATE "+s.quoted+" SET current_val = ? WHERE pk_seq_name = ? AND current_val = ? AND increment_val = ?", after, tag, current, inc))
	})
	if err != nil {
		return Range{}, err
	}
	return r, nil
}

// read returns the tag's row as it stands, or locked by suffix.
func (s *sequence) read(ctx context.Context, st store, tag, suffix string) (current, inc int64, err error) {
	err = st.row(ctx, "SELECT current_val, increment_val FROM "+s.quoted+" WHERE pk_seq_name = ?"+suffix, []any{tag}, &current, &inc)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, unknownTag(tag, s.table)
	}
	if err == nil && (inc < 1 || inc > maxSpan || current < -inc) {
		err = fmt.Errorf("%w: the row's increment_val is %d and its current_val %d, want 1..%d and no block below 0", ErrBadRange, inc, current, maxSpan)
	}
	return current, inc, err
}

// Check reports whether the table can be read and written.
func (s *sequence) Check(ctx context.Context) error {
	if s.err != nil {
		return s.err
	}
	s.exam.again(nil)
	if err := s.examine(ctx); err != nil {
		return fmt.Errorf("segment: check table %s: %w", s.table, err)
	}
	return s.store.probe(ctx, s.table, "SELECT current_val, increment_val FROM "+s.quoted+" WHERE pk_seq_name = ''",
		"UPDATE "+s.quoted+" SET current_val = current_val WHERE pk_seq_name = '' AND 1 = 0")
}
