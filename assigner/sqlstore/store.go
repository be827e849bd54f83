package sqlstore

import (
	"context"
	"database/sql"
	"log/slog"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workerstore"
	"github.com/uidring/uidring/internal/workertable"
)

// Options configures New. A nil pointer and zero fields mean the defaults.
type Options struct {
	// Namespace is a universe of ids: claims in one namespace have different worker ids, and IDS OF
	// TWO NAMESPACES MAY BE EQUAL. 1 to 64 characters, case-sensitive. Default "default".
	Namespace string

	// Place names the database in messages. It must not contain a password. Default: the dialect.
	Place string

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two concurrent
	// updates of a row. Two processes may then get one worker id. Default: they are refused.
	AcceptLostUpdates bool

	// Logger gets rows that cannot be read, and names that were cut to fit their columns. Default:
	// none.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// New returns the store of a namespace, for lease.New. It is safe for concurrent use, keeps no
// connection between two calls, and holds nothing that has to be closed. It is a lease.Index, a
// lease.Numberer and an assigner.Clock. dialect is "mysql", also for MariaDB, "postgres" or
// "sqlite". nil options mean the defaults. It does not connect.
func New(db *sql.DB, dialect string, options *Options) (lease.Store, error) {
	o, d, err := open(db, dialect, options)
	if err != nil {
		return nil, err
	}
	node, err := workertable.This().Node("", "")
	if err != nil {
		return nil, err
	}
	s, err := workerstore.Open(d, node, workerstore.Options{Namespace: o.Namespace,
		AcceptLostUpdates: o.AcceptLostUpdates, Logger: o.Logger})
	if err != nil {
		return nil, err // not s, a nil pointer in an interface
	}
	return s, nil
}

// Migrate creates the tables WORKER_NODE and WORKER_LEASE if they are missing. It never drops or
// changes a row or a column, so it may run at every start, by many processes at once, and without
// the privilege to create tables once they exist. A table that lacks its primary key is an error
// with the statement that makes it. Migrate waits for a database that is down until ctx ends. Of
// the options Place and Logger count.
func Migrate(ctx context.Context, db *sql.DB, dialect string, options *Options) error {
	_, d, err := open(db, dialect, options)
	if err != nil {
		return err
	}
	return workertable.Migrate(ctx, d)
}

// open returns the options with their defaults, and the database.
func open(db *sql.DB, dialect string, options *Options) (o Options, d *sqldb.DB, err error) {
	if options != nil {
		o = *options
	}
	d, err = sqldb.Open("sqlstore", db, dialect, o.Place, o.Logger)
	return o, d, err
}
