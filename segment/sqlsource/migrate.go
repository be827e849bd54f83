package sqlsource

import (
	"context"
	"fmt"
	"log/slog"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// Tables returns the names of the tables that Migrate makes.
func Tables() []string { return []string{"leaf_alloc", "t_sequence", "ticket"} }

// Migrate makes the tables of the given names, or all of Tables, where they are missing. It changes
// and drops nothing that exists. The texts are those of package sql. It waits for a database that
// is down until ctx ends.
func Migrate(ctx context.Context, db *gorm.DB, tables ...string) error {
	return MigrateLogged(ctx, db, nil, tables...)
}

// MigrateLogged is Migrate with a logger, which may be nil. It is told when Migrate begins to wait.
func MigrateLogged(
	ctx context.Context, db *gorm.DB, logger *slog.Logger, tables ...string,
) error {
	d, err := sqldb.Open("sqlsource", db, logger)
	if err != nil {
		return fmt.Errorf("%w (%w)", err, segment.ErrOptions)
	}
	if len(tables) == 0 {
		tables = Tables()
	}
	return d.Create(ctx, tables...)
}
