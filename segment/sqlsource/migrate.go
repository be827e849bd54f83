package sqlsource

import (
	"context"
	"fmt"
	"log/slog"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/segment"
)

// Tables returns the names of the tables that Migrate creates.
func Tables() []string { return []string{"leaf_alloc", "t_sequence", "ticket"} }

// Migrate creates the named tables, or all of Tables, if they are missing. It changes and drops
// nothing that exists. The DDL is that of package sql. If the database is down, Migrate waits for
// it until ctx ends.
func Migrate(ctx context.Context, db *gorm.DB, tables ...string) error {
	return MigrateLogged(ctx, db, nil, tables...)
}

// MigrateLogged is Migrate with a logger, which gets a message when Migrate begins to wait. The
// logger may be nil.
func MigrateLogged(
	ctx context.Context, db *gorm.DB, logger *slog.Logger, tables ...string,
) error {
	d, err := sqlgorm.Open("sqlsource", db, logger)
	if err != nil {
		return fmt.Errorf("%w (%w)", err, segment.ErrOptions)
	}
	if len(tables) == 0 {
		tables = Tables()
	}
	return d.Create(ctx, tables...)
}
