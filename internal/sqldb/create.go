package sqldb

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/sql"
)

// Create makes the tables of the given names, whose texts are those of package sql, where they are
// missing. It changes and drops nothing that exists, so it may run at every start, by many
// processes at once, and without the privilege to create tables once they exist. It waits for a
// database that is down until ctx ends.
func (d *DB) Create(ctx context.Context, tables ...string) error {
	for _, table := range tables {
		ddl, err := sql.DDL(d.Name, table)
		if err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		err = d.Retry(ctx, "creating table "+table, func(ctx context.Context) error {
			err := d.Do(ctx, func(c *Conn) error {
				_, err := c.conn.ExecContext(ctx, ddl)
				return err
			})
			if err == nil {
				return nil
			}
			// A failure does not count if the table is there. Of two processes at once PostgreSQL
			// tells one that it met the other. An account that may not create a table may not do so
			// if it exists either, and neither may any on a replica.
			var n int64
			if d.Do(ctx, func(c *Conn) error {
				return c.Row(ctx, "SELECT COUNT(*) FROM "+table+" WHERE 1 = 0", nil, &n)
			}) == nil {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Index makes an index of a table that an earlier version has made without it. Only MySQL needs it:
// the text of the table makes the index where it is missing elsewhere. An account that may not is
// no error, because an index changes how fast statements are and nothing else.
func (d *DB) Index(ctx context.Context, table, name, columns string) error {
	if d.Name != "mysql" {
		return nil
	}
	return d.Retry(ctx, "creating index "+name, func(ctx context.Context) error {
		return d.Do(ctx, func(c *Conn) error {
			var n int64
			err := c.Row(ctx, "SELECT COUNT(*) FROM information_schema.STATISTICS "+
				"WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND INDEX_NAME = ?",
				[]any{table, name}, &n)
			if n > 0 || err != nil {
				return err
			}
			_, err = c.Exec(ctx, "CREATE INDEX "+name+" ON "+table+" ("+columns+")")
			if err != nil && (MySQLCode(err) == duplicateIndex || d.Failure(err) == Denied) {
				return nil
			}
			return err
		})
	})
}

// duplicateIndex is MySQL's code for an index that exists, such as one that another process has
// made.
const duplicateIndex = 1061
