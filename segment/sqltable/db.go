package sqltable

import (
	"database/sql"
	"fmt"
	"log/slog"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/segment"
)

// DB is a database. A source uses one connection of the pool at a time for each call, and changes
// none of its settings. Statements commit themselves: a transaction of the caller takes no part.
type DB struct {
	Pool    *sql.DB
	Dialect string // "mysql", also for MariaDB, "postgres" or "sqlite"

	// Place names the database in messages. It must not contain a password. Default: the dialect.
	Place string

	// Logger gets a message when Migrate begins to wait for the database. Default: none.
	Logger *slog.Logger

	// Err says why there is no database, for a package that makes a DB of something else. Whatever
	// uses the DB returns it.
	Err error

	_ struct{} // keeps literals keyed
}

// open returns the database for a user called name. It does not connect.
func (db DB) open(name string) (d *sqldb.DB, err error) {
	if err = db.Err; err == nil {
		d, err = sqldb.Open(name, db.Pool, db.Dialect, db.Place, db.Logger)
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", err, segment.ErrOptions)
	}
	return d, nil
}
