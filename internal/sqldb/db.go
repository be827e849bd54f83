package sqldb

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"

	"gorm.io/driver/mysql"
	"gorm.io/gorm"
)

// DB is a database. It is safe for concurrent use.
type DB struct {
	Dialect

	pool   *sql.DB
	name   string       // of the package that uses it: the prefix of its errors
	place  string       // names the database in messages, without the password
	logger *slog.Logger // gets a message when an operation begins to wait; may be nil

	unknown *atomic.Bool // Do still has to ask for the server's product; nil: it never has to
	proven  *atomic.Bool // an id in a statement's answer was once compared with the stored one
}

// Open returns the database of db, for the package called name. It returns an error if db cannot be
// used. It does not connect. logger may be nil.
//
// Open uses only the *sql.DB of db, and bypasses GORM's cache of prepared statements and the like.
// A db without one is an error: a transaction, a single connection or a pool of another type.
func Open(name string, db *gorm.DB, logger *slog.Logger) (*DB, error) {
	refuse := func(reason string) (*DB, error) { return nil, fmt.Errorf("%s: %s", name, reason) }
	switch {
	case db == nil || db.Config == nil || db.Dialector == nil:
		return refuse("db is nil or was not opened")
	case db.Error != nil:
		return nil, fmt.Errorf("%s: db carries an error: %w", name, db.Error)
	case db.DryRun:
		return refuse("db is a dry run, want one that executes")
	}
	d, ok := dialects[db.Dialector.Name()]
	if !ok {
		return refuse(fmt.Sprintf("dialect is %q, want mysql, postgres or sqlite",
			db.Dialector.Name()))
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
	pool, err := db.DB()
	if errors.Is(err, gorm.ErrInvalidDB) {
		return refuse(fmt.Sprintf("db has no *sql.DB but a %T, want one that gorm.Open returned",
			conn))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &DB{Dialect: d, pool: pool, name: name, place: place(db.Dialector), logger: logger,
		proven: &atomic.Bool{}}, nil
}

// place names the database in messages. MySQL's driver does not always do that; the others' do.
func place(d gorm.Dialector) string {
	if m, ok := d.(*mysql.Dialector); ok && m.Config != nil && m.DSNConfig != nil {
		return fmt.Sprintf("mysql database %q at %s", m.DSNConfig.DBName, m.DSNConfig.Addr)
	}
	return d.Name() + " database"
}

// Place names the database, for messages. It contains no password.
func (d *DB) Place() string { return d.place }

// Idle returns how many connections of the pool are idle.
func (d *DB) Idle() int { return d.pool.Stats().Idle }

// Logger returns the logger given to Open, which may be nil.
func (d *DB) Logger() *slog.Logger { return d.logger }
