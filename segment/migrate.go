package segment

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	ddl "github.com/uidring/uidring/sql"
)

// Tables returns the names of the tables that Migrate makes.
func Tables() []string { return []string{"leaf_alloc", "t_sequence", "ticket"} }

// Migrate makes the tables of the given names, or all of Tables, where they are missing. It changes and drops nothing that
// exists. The texts are those of package sql.
func Migrate(ctx context.Context, db *gorm.DB, tables ...string) error {
	if len(tables) == 0 {
		tables = Tables()
	}
	for _, table := range tables {
		text, err := ddl.DDL(db.Name(), table)
		if err != nil {
			return fmt.Errorf("segment: migrate: %w", err)
		}
		if _, err := db.Statement.ConnPool.ExecContext(ctx, text); err != nil {
			return fmt.Errorf("segment: migrate: create table %s: %w", table, err)
		}
	}
	return nil
}
