package sqldb

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/sql"
)

// Create creates the named tables, with the DDL of package sql, if they are missing. It changes and
// drops nothing that exists. So it may run at every start, in many processes at once, and without
// the privilege to create tables once they exist. If the database is down, Create waits for it
// until ctx ends.
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
			// A failure does not count if the table exists. If two processes create it at once,
			// PostgreSQL fails one of them. CREATE TABLE IF NOT EXISTS also fails without the
			// privilege to create tables, and on a replica, even if the table exists.
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

// Index creates an index of a table that an earlier version created without it. It does nothing but
// on MySQL: the DDL for the other databases creates a missing index itself. A lack of privileges is
// no error, because an index only changes how fast statements are.
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

// duplicateIndex is MySQL's code for an index that exists: another process may have created it.
const duplicateIndex = 1061
