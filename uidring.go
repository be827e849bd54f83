// Package uidring opens a generator whose worker id a database leases, in one call.
//
//	gen, err := uidring.Open(ctx, os.Getenv("UID_DSN"), &uidring.Options{Logger: slog.Default()})
//	if err != nil {
//		return err
//	}
//	defer gen.Close()
//
// The parts that it puts together are packages of their own: uid has the generators, package
// assigner and the packages under it have the sources of worker ids.
package uidring

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/bitsalloc"
	"github.com/uidring/uidring/internal/sqlgorm"
	"github.com/uidring/uidring/internal/workertable"
	"github.com/uidring/uidring/uid"
)

const (
	defaultTimeout = 30 * time.Second // of a ctx without a deadline
	patience       = 2 * time.Second  // after which the log has a line about waiting
)

// Options of Open, OpenDB and OpenEnv. Nil and zero fields mean the defaults.
type Options struct {
	// Generator are the options of the generator: layout, lanes, policies.
	Generator uid.Options

	// Lease are the options of the worker id: namespace, window.
	Lease workernode.LeasedOptions

	// Timeout bounds how long to wait for the database, also where ctx ends later. Zero means until
	// ctx ends, or 30 seconds if ctx has no deadline.
	Timeout time.Duration

	// MaxConns bounds the connections of the pool that Open makes. They are in use for moments, and
	// close after two seconds without work. Default: 4. OpenDB leaves its caller's pool as it is.
	MaxConns int

	// DB is the database that OpenEnv takes in place of UID_DSN, which is not read then. Its caller
	// closes it after the generator. MaxConns does not apply. Default: none.
	DB *gorm.DB

	// NoMigrate creates no tables. By default WORKER_NODE and WORKER_LEASE are created where they
	// are missing.
	NoMigrate bool

	// Logger is told about rare changes of state, and about waiting for the database. It is the
	// Logger of Generator and Lease where those have none. Default: none.
	Logger *slog.Logger

	_ struct{} // keeps literals keyed
}

// check says which field is out of range.
func (o *Options) check() error {
	switch {
	case o == nil:
		return nil
	case o.Timeout < 0:
		return fmt.Errorf("%w: Timeout is %v, want 0s or more", uid.ErrOptions, o.Timeout)
	case o.MaxConns < 0:
		return fmt.Errorf("%w: MaxConns is %d, want 0 or more", uid.ErrOptions, o.MaxConns)
	}
	return nil
}

// Generator is a uid.Cached with a database pool of its own. Like the Cached it is safe for
// concurrent use; share one between all goroutines.
type Generator struct {
	*uid.Cached
	pool  *sql.DB
	close func() error // once
}

// Close closes the generator, which gives the unused rest of its window back, and then the pool. It
// waits for the database for five seconds at most, and for a log handler that runs. After an error
// nothing need be done: the worker id is free when its window has passed. Calls for ids fail with
// uid.ErrClosed from then on. Later calls of Close return the first one's result.
func (g *Generator) Close() error { return g.close() }

// Open leases a worker id from a MySQL or MariaDB database and returns a generator. It waits for a
// database that is down as long as Options.Timeout says.
//
// dsn is user:password@tcp(host:port)/database?param=value, or
// mysql://user:password@host:port/database?param=value with special characters percent-encoded. No
// error shows it. The generator gets a pool of up to four connections, which Close closes. For a
// pool of your own, PostgreSQL or SQLite, use OpenDB.
//
// ctx and Timeout bound the start only. Errors wrap uid.ErrOptions for options that are out of
// range, but for those of Lease; assigner.ErrWorkersExhausted, assigner.ErrLayoutMismatch or
// assigner.ErrSuperseded where no worker id can be had; and that of the ctx where the database did
// not answer in time. The pool is closed then.
func Open(ctx context.Context, dsn string, o *Options) (*Generator, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o != nil && o.DB != nil {
		return nil, fmt.Errorf("%w: DB is set, want nil next to a DSN: use OpenDB", uid.ErrOptions)
	}
	db, err := workernode.OpenMySQL(dsn)
	if err != nil {
		return nil, fmt.Errorf("uidring: %w; %s", err, otherDoor(dsn))
	}
	pool, err := db.DB()
	if err != nil {
		return nil, fmt.Errorf("uidring: %w", err)
	}
	if o != nil && o.MaxConns > 0 {
		pool.SetMaxOpenConns(o.MaxConns)
	}
	gen, err := OpenDB(ctx, db, o)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	g := &Generator{Cached: gen, pool: pool}
	g.close = sync.OnceValue(func() error { return errors.Join(gen.Close(), pool.Close()) })
	return g, nil
}

// otherDoor says how to open a generator on a database that Open does not take.
func otherDoor(dsn string) string {
	var driver string
	switch {
	case strings.HasPrefix(dsn, "postgres"), strings.Contains(dsn, "host="):
		driver = "postgres"
	case strings.HasPrefix(dsn, "sqlite"), strings.HasPrefix(dsn, "file:"),
		strings.HasSuffix(dsn, ".db"):
		driver = "sqlite"
	default:
		return "OpenDB takes PostgreSQL and SQLite"
	}
	return fmt.Sprintf("for this one:\n\tdb, err := gorm.Open(%s.Open(dsn), nil)\n"+
		"\tgen, err := uidring.OpenDB(ctx, db, nil)", driver)
}

// OpenDB is Open on a database of any dialect that the caller opened and closes after the
// generator. It uses the *sql.DB in db, one connection at a time, and changes none of its settings.
func OpenDB(ctx context.Context, db *gorm.DB, options *Options) (*uid.Cached, error) {
	if err := options.check(); err != nil {
		return nil, err
	}
	var o Options
	if options != nil {
		o = *options
	}
	if o.Generator.Logger == nil {
		o.Generator.Logger = o.Logger
	}
	if o.Lease.Logger == nil {
		o.Lease.Logger = o.Logger
	}
	if _, bounded := ctx.Deadline(); !bounded || o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(o.Timeout, defaultTimeout))
		defer cancel()
	}
	if o.Logger != nil {
		line := time.AfterFunc(patience, func() {
			until, _ := ctx.Deadline()
			o.Logger.Warn("waiting for the database, to lease a worker id", "until", until)
		})
		defer line.Stop()
	}
	if !o.NoMigrate {
		d, err := sqlgorm.Open("workernode", db, o.Logger)
		if err == nil {
			err = workertable.Migrate(ctx, d)
		}
		if err != nil {
			return nil, fmt.Errorf("uidring: creating the tables: %w", err)
		}
	}
	gen, err := uid.NewCached(ctx, workernode.Leased(db, &o.Lease), &o.Generator)
	if err != nil {
		return nil, fmt.Errorf("uidring: %w", err)
	}
	return gen, nil
}

// OpenEnv is Open as the environment configures it. A variable that is set, and not empty, replaces
// the field of o. UID_LAYOUT that is set and empty is an error: it stands for a value that has got
// lost, and ids of the default layout would collide with those of the one that is meant. An error
// is about the first bad one in this order:
//
//	UID_NAMESPACE  Lease.Namespace
//	UID_WINDOW     Lease.Window, such as 20m
//	UID_LAYOUT     Generator.Layout, as bitsalloc.ParseLayout reads it
//	UID_MIGRATE    false sets NoMigrate
//	UID_TIMEOUT    Timeout, such as 30s
//	UID_MAX_CONNS  MaxConns
//	UID_DSN        what Open takes; required without Options.DB
func OpenEnv(ctx context.Context, o *Options) (*Generator, error) {
	var fromEnv Options
	if o != nil {
		fromEnv = *o
	}
	for _, v := range []struct {
		name string
		set  func(text string) error
	}{
		{"UID_NAMESPACE", func(text string) error { fromEnv.Lease.Namespace = text; return nil }},
		{"UID_WINDOW", func(text string) (err error) {
			fromEnv.Lease.Window, err = time.ParseDuration(text)
			return err
		}},
		{"UID_LAYOUT", func(text string) (err error) {
			fromEnv.Generator.Layout, err = bitsalloc.ParseLayout(text)
			return err
		}},
		{"UID_MIGRATE", func(text string) error {
			migrate, err := strconv.ParseBool(text)
			fromEnv.NoMigrate = !migrate
			return err
		}},
		{"UID_TIMEOUT", func(text string) (err error) {
			fromEnv.Timeout, err = time.ParseDuration(text)
			return err
		}},
		{"UID_MAX_CONNS", func(text string) (err error) {
			fromEnv.MaxConns, err = strconv.Atoi(text)
			return err
		}},
	} {
		text, set := os.LookupEnv(v.name)
		if text != "" || set && v.name == "UID_LAYOUT" {
			if err := v.set(text); err != nil {
				return nil, fmt.Errorf("uidring: %s is %q: %w", v.name, text, err)
			}
		}
	}
	if db := fromEnv.DB; db != nil {
		gen, err := OpenDB(ctx, db, &fromEnv)
		if err != nil {
			return nil, err
		}
		return &Generator{Cached: gen, close: sync.OnceValue(gen.Close)}, nil
	}
	dsn := os.Getenv("UID_DSN")
	if dsn == "" {
		return nil, errors.New("uidring: UID_DSN is empty, want " +
			"user:password@tcp(host:port)/database or mysql://user:password@host:port/database")
	}
	return Open(ctx, dsn, &fromEnv)
}
