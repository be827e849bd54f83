package segment

import (
	"context"
	"errors"
	"fmt"
)

// List returns the rows of the table. Next is the first id of the next block.
func (s *sequence) List(ctx context.Context) ([]Row, error) {
	if s.err != nil {
		return nil, s.err
	}
	rows, err := s.store.list(ctx, "SELECT pk_seq_name, current_val, increment_val FROM "+s.quoted)
	if err != nil {
		return nil, fmt.Errorf("segment: list %s: %w", s.table, err)
	}
	for i := range rows {
		rows[i].Next = s.next(rows[i].Next, rows[i].Step)
	}
	return rows, nil
}

// Find returns the row of the name. Next is the first id of the next block.
func (s *sequence) Find(ctx context.Context, tag string) (Row, error) {
	if s.err != nil {
		return Row{}, s.err
	}
	if err := checkFetch(tag, 0, maxSequenceName); err != nil {
		return Row{}, err
	}
	current, inc, err := s.read(ctx, s.store, tag, "")
	if err != nil {
		return Row{}, fmt.Errorf("segment: find tag %q in %s: %w", tag, s.table, err)
	}
	return Row{Tag: tag, Next: s.next(current, inc), Step: inc}, nil
}

// next is the first id of the next block of a counter at current, or the last int64 if there is none; current is its inverse.
func (s *sequence) next(current, inc int64) int64 {
	inc = max(inc, 0) // of a row that makes no sense
	switch {
	case s.fromCurrent:
		return current
	case current > maxInt64-inc:
		return maxInt64
	}
	return current + inc
}

func (s *sequence) current(next, inc int64) int64 {
	if s.fromCurrent {
		return next
	}
	return next - inc
}

// Set makes or changes the tag. A new tag starts at current_val 0. A new increment keeps the next block's first id: in the
// original's way of counting, where the last block reaches beyond current_val, lowering increment_val alone would
// make the next block overlap it.
func (s *sequence) Set(ctx context.Context, row Row) error {
	if s.err != nil {
		return s.err
	}
	if err := checkRow(row, maxSequenceName); err != nil {
		return err
	}
	if err := s.set(ctx, row); err != nil {
		return fmt.Errorf("segment: set tag %q in %s: %w", row.Tag, s.table, err)
	}
	return nil
}

func (s *sequence) set(ctx context.Context, row Row) error {
	if err := s.examine(ctx); err != nil {
		return err
	}
	current, inc, err := s.read(ctx, s.store, row.Tag, "")
	if errors.Is(err, ErrUnknownTag) {
		if row.Step == 0 {
			return fmt.Errorf("%w: Step is 0, want 1 or more for a new tag", ErrOptions)
		}
		at := int64(0)
		if row.Next > 0 {
			at = s.current(row.Next, row.Step)
		}
		_, err := s.store.exec(ctx, "INSERT INTO "+s.quoted+" (pk_seq_name, current_val, increment_val) VALUES (?, ?, ?)", row.Tag, at, row.Step)
		return err
	}
	if err != nil && !errors.Is(err, ErrBadRange) { // a row with a useless increment is what Set is there to repair
		return err
	}
	step, next := row.Step, row.Next
	switch {
	case err != nil && step == 0:
		return fmt.Errorf("%w: Step is 0, want 1 or more, as the row has %d", ErrOptions, inc)
	case err != nil && next == 0 && !s.fromCurrent:
		return fmt.Errorf("%w: Next is 0, want it above every id in use: the row, with increment_val %d, does not tell where its last block ends", ErrOptions, inc)
	}
	if step == 0 {
		step = inc
	}
	if next == 0 {
		next = s.next(current, inc)
	}
	if next < s.next(current, inc) && !s.cycle {
		return fmt.Errorf("%w: Next is %d, want at least %d", ErrRangeWentBack, next, s.next(current, inc))
	}
	if step == inc && s.current(next, step) == current {
		return nil
	}
	res, err := s.store.exec(ctx, "UPDATE "+s.quoted+" SET current_val = ?, increment_val = ? WHERE pk_seq_name = ? AND current_val = ? AND increment_val = ?",
		s.current(next, step), step, row.Tag, current, inc)
	if err != nil {
		return err
	}
	if n, err := affected(res); err != nil || n == 0 {
		return errors.Join(err, errors.New("segment: the row changed at the same moment; nothing was set, try again"))
	}
	return nil
}

// Return sets current_val back so that the next block begins with rest, if no later block was handed out.
func (s *sequence) Return(ctx context.Context, tag string, rest Range) (bool, error) {
	if s.err != nil {
		return false, s.err
	}
	if s.cycle {
		return false, nil // current_val may have come round to the same value
	}
	if err := rest.validate(); err != nil {
		return false, fmt.Errorf("segment: return to tag %q: %w", tag, err)
	}
	return s.guard.restore(ctx, tag, rest, func() (bool, error) {
		res, err := s.store.exec(ctx, "UPDATE "+s.quoted+" SET current_val = ? WHERE pk_seq_name = ? AND current_val = ? AND increment_val = ?",
			s.current(rest.From, rest.Step), tag, s.current(rest.To, rest.Step), rest.Step)
		if err != nil {
			return false, fmt.Errorf("segment: return %v of tag %q to %s: %w", rest, tag, s.table, err)
		}
		n, err := affected(res)
		return n == 1, err
	})
}
