package workernode

import (
	"context"
	"fmt"

	"github.com/uidring/uidring/sql"
	"gorm.io/gorm"
)

// tables are the ones of this package.
var tables = [...]string{"WORKER_NODE", "WORKER_LEASE"}

// Migrate creates the tables WORKER_NODE and WORKER_LEASE if they are missing. It never drops or changes one, so it may run at every
// start, by many processes at once, and without the privilege to create tables once they exist. It waits for a database that
// is down until ctx ends.
func Migrate(ctx context.Context, db *gorm.DB) error {
	d, err := open(db)
	if err != nil {
		return err
	}
	for _, table := range tables {
		ddl, err := sql.DDL(d.dialect.name, table)
		if err != nil {
			return fmt.Errorf("workernode: %w", err)
		}
		err = d.retry(ctx, "creating table "+table, func(ctx context.Context) error {
			_, err := d.pool.ExecContext(ctx, ddl)
			// PostgreSQL looks and creates in two steps: of two processes at once, one finds the other's entry in the
			// catalogue, which of several it is differs, and the table is there.
			if err != nil && d.classify(err) == duplicate {
				return nil
			}
			// An account that may not create a table may not do so if it exists either, and needs not.
			if err != nil && d.classify(err) == denied {
				var n int64
				if d.row(ctx, "SELECT COUNT(*) FROM "+table+" WHERE 1 = 0", nil, []any{&n}) == nil {
					return nil
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
