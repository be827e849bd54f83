package workertable

import (
	"context"

	"github.com/uidring/uidring/internal/sqldb"
)

// Migrate creates the tables that are missing, makes sure that they have their keys, and creates
// the index of an older WORKER_LEASE if the account may.
func Migrate(ctx context.Context, d *sqldb.DB) error {
	both := &Keys{Tables: []string{NodeTable, LeaseTable}}
	if err := d.Create(ctx, both.Tables...); err != nil {
		return err
	}
	// CREATE TABLE IF NOT EXISTS leaves a table without its key as it is.
	err := d.Retry(ctx, "looking for keys", func(ctx context.Context) error {
		return both.Require(ctx, d)
	})
	if err != nil {
		return err
	}
	// The index finds the rows that are free without reading those that are not: see sqlstore.
	// Without it claims are as safe and slower.
	return d.Index(ctx, LeaseTable, "WORKER_LEASE_FREE", "NAMESPACE, UNTIL_MS")
}
