package workernode

import (
	"context"

	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// Migrate creates the tables WORKER_NODE and WORKER_LEASE if they are missing, and the index of an
// older WORKER_LEASE if the account may. It never drops or changes a row or a column, so it may run
// at every start, by many processes at once, and without the privilege to create tables once they
// exist. A table that lacks its primary key is an error with the statement that makes it: the key
// cannot be made where rows are equal already, which an operator has to judge. Migrate waits for a
// database that is down until ctx ends. The DDL is that of package sql, so an operator who runs it
// by hand gets the same tables.
func Migrate(ctx context.Context, db *gorm.DB) error {
	d, err := sqlgorm.Open("workernode", db, nil)
	if err != nil {
		return err
	}
	return workertable.Migrate(ctx, d)
}
