package workerlist

import (
	"context"
	"log/slog"

	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/workertable"
	"gorm.io/gorm"
)

// Migrate creates the tables WORKER_NODE and WORKER_LEASE if they are missing. logger, which may be
// nil, is told when it begins to wait for the database.
func Migrate(ctx context.Context, db *gorm.DB, logger *slog.Logger) error {
	d, err := sqlgorm.Open("workernode", db, logger)
	if err != nil {
		return err
	}
	return workertable.Migrate(ctx, d)
}
