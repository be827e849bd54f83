package sqldb

import (
	"context"
	"database/sql"
	"fmt"
)

// Insert runs an INSERT of one row into a table whose key the database generates, and returns the
// key, which is 0 if it generates none. On MySQL the first call compares the key in the server's
// answer with LAST_INSERT_ID() in the session.
func (c *Conn) Insert(ctx context.Context, key, query string, args ...any) (id int64, err error) {
	if c.returning {
		err = c.Row(ctx, query+" RETURNING "+key, args, &id)
		return id, err
	}
	result, err := c.Exec(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	n, id, err := answer(result)
	if err != nil {
		return 0, err
	}
	if n != 1 {
		return 0, fmt.Errorf("the INSERT changed %d rows, want 1", n)
	}
	if id != 0 && c.Name == "mysql" && !c.proven.Load() {
		err = c.prove(ctx, id, "SELECT LAST_INSERT_ID()", nil)
	}
	return id, err
}

// Advance runs MySQL's UPDATE of one row that sets a column to LAST_INSERT_ID(expr). It returns how
// many rows were changed and, if that is 1, the value of expr. With 0 rows some servers answer with
// the value of an earlier statement. If a trigger hides the value, it is 0.
//
// The first call compares the value with the one in the row, which look, a SELECT with the same
// arguments, reads. Both statements run in one transaction, so no other process changes the row in
// between.
func (c *Conn) Advance(
	ctx context.Context, update, look string, args ...any,
) (rows, value int64, err error) {
	proven := c.proven.Load()
	if !proven {
		if _, err := c.Exec(ctx, "START TRANSACTION"); err != nil {
			return 0, 0, err
		}
	}
	result, err := c.Exec(ctx, update, args...)
	if err != nil {
		return 0, 0, err
	}
	if rows, value, err = answer(result); err != nil || proven {
		return rows, value, err
	}
	if value != 0 {
		if err := c.prove(ctx, value, look, args); err != nil {
			return 0, 0, err
		}
	}
	_, err = c.Exec(ctx, "COMMIT")
	return rows, value, err
}

// answer returns how many rows a statement changed and, if that is 1, the id in its answer.
func answer(result sql.Result) (rows, id int64, err error) {
	if rows, err = result.RowsAffected(); err != nil || rows != 1 {
		return rows, 0, err
	}
	id, err = result.LastInsertId()
	return rows, id, err
}

// prove compares the id in a statement's answer with the result of a query. It returns an error
// that wraps ErrUnfit if they differ.
func (c *Conn) prove(ctx context.Context, id int64, query string, args []any) error {
	var found int64
	if err := c.Row(ctx, query, args, &found); err != nil {
		return err
	}
	if found != id {
		p, err := c.Product(ctx)
		if err != nil {
			return err
		}
		return Final(fmt.Errorf("%s answered a statement with the id %d where it stored %d: %w",
			p, id, found, ErrUnfit))
	}
	c.proven.Store(true)
	return nil
}
