package segment

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// list runs a query for (tag, next, step) and returns the rows in the order of Tag, which no database's ORDER BY promises: that
// of a text depends on its collation.
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
	slices.SortFunc(out, func(a, b Row) int { return strings.Compare(a.Tag, b.Tag) })
	return out, rows.Err()
}

// probe runs a query of two columns that finds nothing in a table that is fit for use, and an update that changes nothing,
// which a read-only replica refuses nevertheless. SQLite is spared the update: it would wait for the file's lock.
func (s store) probe(ctx context.Context, table, query, update string) error {
	var a, b sql.NullInt64
	err := s.row(ctx, query, nil, &a, &b)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	if err == nil && s.dialect != dialectSQLite {
		_, err = s.exec(ctx, update)
	}
	if err != nil {
		return fmt.Errorf("segment: check table %s: %w", table, err)
	}
	return nil
}

// checkRow checks the argument of a database source's Set.
func checkRow(row Row, maxTag int) error {
	if err := checkName(row.Tag, maxTag); err != nil {
		return fmt.Errorf("%w: Tag %w", ErrOptions, err)
	}
	switch {
	case row.Next < 0:
		return fmt.Errorf("%w: Next is %d, want 0 or more", ErrOptions, row.Next)
	case row.Step < 0 || row.Step > math.MaxInt32: // the columns are INT
		return fmt.Errorf("%w: Step is %d, want 0..%d", ErrOptions, row.Step, math.MaxInt32)
	}
	return nil
}

// checkName checks a tag against its column, which holds text of that many characters. PostgreSQL answers every other name with
// an error that would be taken for an outage.
func checkName(tag string, maxTag int) error {
	switch n := utf8.RuneCountInString(tag); {
	case n < 1 || n > maxTag:
		return fmt.Errorf("has %d characters, want 1..%d", n, maxTag)
	case !utf8.ValidString(tag) || strings.ContainsRune(tag, 0):
		return fmt.Errorf("is %q, want UTF-8 without NUL", tag)
	}
	return nil
}
