package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
)

// list runs a query for (tag, next, step).
func (s store) list(ctx context.Context, query string) ([]Row, error) {
	rows, err := s.db.Statement.ConnPool.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Row
	for rows.Next() {
		var r Row
		if err := rows.Scan(&r.Tag, &r.Next, &r.Step); err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// probe runs a query of two columns that finds nothing in a table that is fit for use.
func (s store) probe(ctx context.Context, table, query string) error {
	var a, b sql.NullInt64
	if err := s.row(ctx, query, nil, &a, &b); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("segment: check table %s: %w", table, err)
	}
	return nil
}

// checkRow checks the argument of a database source's Set.
func checkRow(row Row, maxTag int) error {
	switch {
	case row.Tag == "" || len(row.Tag) > maxTag:
		return fmt.Errorf("%w: Tag has %d bytes, want 1..%d", ErrOptions, len(row.Tag), maxTag)
	case row.Next < 0:
		return fmt.Errorf("%w: Next is %d, want 0 or more", ErrOptions, row.Next)
	case row.Step < 0 || row.Step > math.MaxInt32: // the columns are INT
		return fmt.Errorf("%w: Step is %d, want 0..%d", ErrOptions, row.Step, math.MaxInt32)
	}
	return nil
}
