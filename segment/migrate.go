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
	if err := checkOpen("Migrate: db", db); err != nil {
		return err
	}
	if len(tables) == 0 {
		tables = Tables()
	}
	for _, table := range tables {
		text, err := ddl.DDL(db.Name(), table)
		if err != nil {
			return fmt.Errorf("segment: migrate: %w", err)
		}
		if err := create(ctx, db, table, text); err != nil {
			return fmt.Errorf("segment: migrate: create table %s: %w", table, err)
		}
	}
	return nil
}

// create runs a CREATE TABLE IF NOT EXISTS. Its failure does not count if the table is there: on PostgreSQL it may have met another
// one that made the table, and an account that may not create tables may not do so if they exist either.
func create(ctx context.Context, db *gorm.DB, table, text string) error {
	_, err := db.Statement.ConnPool.ExecContext(ctx, text)
	if err == nil {
		return nil
	}
	var none int64
	if rowOn(ctx, db.Statement.ConnPool, dialectLock, "SELECT COUNT(*) FROM "+table+" WHERE 1 = 0", nil, &none) != nil {
		return err
	}
	return nil
}
