// Package sqlgorm is the way from a *gorm.DB to package sqldb. It takes the *sql.DB that GORM
// holds, and bypasses GORM's callbacks, plug-ins, logs and cache of prepared statements: none of
// them sees a statement, and a plug-in that sends reads to a replica cannot answer with old rows.
package sqlgorm

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"

	"github.com/uidring/uidring/internal/sqldb"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// Open returns the database of db, for the package called name. It returns an error if db cannot be
// used: see Pool. It does not connect. logger may be nil.
func Open(name string, db *gorm.DB, logger *slog.Logger) (*sqldb.DB, error) {
	pool, dialect, where, err := Pool(name, db)
	if err != nil {
		return nil, err
	}
	return sqldb.Open(name, pool, dialect, where, logger)
}

// Pool returns the *sql.DB of db, its dialect as package sqldb has it, and what names the database
// in messages. Errors begin with name. A db without a *sql.DB of its own is one: a transaction, a
// single connection or a pool of another type.
func Pool(name string, db *gorm.DB) (pool *sql.DB, dialect, where string, err error) {
	refuse := func(reason string) (*sql.DB, string, string, error) {
		return nil, "", "", fmt.Errorf("%s: %s", name, reason)
	}
	switch {
	case db == nil || db.Config == nil || db.Dialector == nil:
		return refuse("db is nil or was not opened")
	case db.Error != nil:
		return nil, "", "", fmt.Errorf("%s: db carries an error: %w", name, db.Error)
	case db.DryRun:
		return refuse("db is a dry run, want one that executes")
	}
	conn := db.ConnPool
	if db.Statement != nil && db.Statement.ConnPool != nil {
		conn = db.Statement.ConnPool
	}
	// The end of the transaction would decide whether a change is committed, long after Do has said
	// that it is.
	if _, ok := conn.(gorm.TxCommitter); ok {
		return refuse("db is a transaction, want one outside of any")
	}
	pool, err = db.DB()
	if errors.Is(err, gorm.ErrInvalidDB) {
		return refuse(fmt.Sprintf("db has no *sql.DB but a %T, want one that gorm.Open returned",
			conn))
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("%s: %w", name, err)
	}
	return pool, db.Dialector.Name(), place(db.Dialector), nil
}

// place names the database in messages. MySQL's driver does not always do that; the others' do.
func place(d gorm.Dialector) string {
	if m, ok := d.(*mysql.Dialector); ok && m.Config != nil && m.DSNConfig != nil {
		return fmt.Sprintf("mysql database %q at %s", m.DSNConfig.DBName, m.DSNConfig.Addr)
	}
	return d.Name() + " database"
}
