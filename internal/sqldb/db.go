package sqldb

import (
	"database/sql"
	"fmt"
	"log/slog"
	"sync/atomic"
)

// DB is a database. It is safe for concurrent use.
type DB struct {
	Dialect

	pool   *sql.DB
	name   string       // of the package that uses it: the prefix of its errors
	place  string       // names the database in messages, without the password
	logger *slog.Logger // gets a message when an operation begins to wait; may be nil

	hosts *Hosts        // the pool's connector; nil: another one
	moved *atomic.Int64 // Hosts.moves when idle connections were closed last

	unknown *atomic.Bool // Do still has to ask for the server's product; nil: it never has to
	proven  *atomic.Bool // an id in a statement's answer was once compared with the stored one
}

// Open returns a pool's database, for the package called name. dialect is "mysql", also for
// MariaDB, "postgres" or "sqlite". place names the database in messages and must not contain a
// password; empty: the dialect does. It does not connect. logger may be nil.
func Open(name string, pool *sql.DB, dialect, place string, logger *slog.Logger) (*DB, error) {
	d, ok := dialects[dialect]
	if !ok {
		return nil, fmt.Errorf("%s: dialect is %q, want mysql, postgres or sqlite", name, dialect)
	}
	if pool == nil {
		return nil, fmt.Errorf("%s: the *sql.DB is nil", name)
	}
	if place == "" {
		place = dialect + " database"
	}
	hosts, _ := pool.Driver().(several)
	return &DB{Dialect: d, pool: pool, name: name, place: place, logger: logger,
		hosts: hosts.hosts, moved: &atomic.Int64{}, proven: &atomic.Bool{}}, nil
}

// Place names the database, for messages. It contains no password.
func (d *DB) Place() string { return d.place }

// Idle returns how many connections of the pool are idle.
func (d *DB) Idle() int { return d.pool.Stats().Idle }

// Logger returns the logger given to Open, which may be nil.
func (d *DB) Logger() *slog.Logger { return d.logger }
