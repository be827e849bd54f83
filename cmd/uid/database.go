package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/assigner/workernode"
)

// embeddedHelp says in the help of --dsn what stands in for it.
const embeddedHelp = "the embedded SQLite in the user's cache folder"

// dsnFlags are the flags of every command that uses a database.
type dsnFlags struct {
	DSN     string        `name:"dsn" placeholder:"DSN" help:"The database: mysql://, postgres://, sqlite:PATH or user:password@tcp(host)/db. Default: the environment variable UID_DSN, else ${dsn}."`
	Timeout time.Duration `default:"10s" help:"How long to wait for the database."`
}

// open opens the database that the flags, else the environment, else the cache folder name, and makes sure that it
// answers. ctx bounds the whole of it. The caller closes the database with closeDB.
func (f *dsnFlags) open(ctx context.Context, p *program) (*gorm.DB, dsn, error) {
	d, err := f.resolve(p)
	if err != nil {
		return nil, d, err
	}
	m := p.meter("waiting for "+d.display, 0)
	defer m.close()
	db, err := openDSN(ctx, d)
	if err != nil {
		return nil, d, f.explain(ctx, d, err)
	}
	return db, d, nil
}

// use opens the database that the flags name, calls do and closes it again. The embedded database gets its tables first.
func (f *dsnFlags) use(ctx context.Context, p *program, do func(context.Context, *gorm.DB, dsn) error) (err error) {
	within, cancel := context.WithTimeout(ctx, max(f.Timeout, 0))
	defer cancel()
	db, d, err := f.open(within, p)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := closeDB(db); err == nil {
			err = closeErr
		}
	}()
	if d.embedded {
		if err := workernode.Migrate(within, db); err != nil {
			return f.explain(within, d, err)
		}
	}
	if err := do(within, db, d); err != nil {
		return f.explain(within, d, err)
	}
	return nil
}

// resolve finds the data source name and remembers its password for redaction.
func (f *dsnFlags) resolve(p *program) (dsn, error) {
	if f.Timeout <= 0 {
		return dsn{}, usagef("--timeout is %v, want above 0", f.Timeout)
	}
	text, origin := f.DSN, "--dsn"
	if text == "" {
		text, origin = p.getenv("UID_DSN"), "UID_DSN"
	}
	if text == "" {
		path, err := p.embeddedPath()
		return dsn{dialect: sqliteDialect, embedded: true, source: path, display: "embedded database " + path}, err
	}
	d, err := parseDSN(text)
	if err != nil {
		if origin == "UID_DSN" {
			err = errors.New("UID_DSN: " + strings.TrimPrefix(err.Error(), "--dsn: "))
		}
		return d, usageError{err}
	}
	p.secrets = append(p.secrets, d.secrets...)
	return d, nil
}

// embeddedPath returns the path of the embedded database and creates its folder. There is no fallback to a temporary
// folder on purpose: a database that is wiped hands the same worker ids out again.
func (p *program) embeddedPath() (string, error) {
	const hint = `name a database instead, for example --dsn sqlite:./uid.db`
	cache, err := p.cacheDir()
	if err != nil {
		return "", fmt.Errorf("no place for the embedded database (%w); %s", err, hint)
	}
	if !filepath.IsAbs(cache) {
		// Another working directory would mean another database, and the same worker ids once more.
		return "", fmt.Errorf("no place for the embedded database: the cache folder %q is not an absolute path; %s", cache, hint)
	}
	dir := filepath.Join(cache, "uidring")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("no place for the embedded database: %w; %s", err, hint)
	}
	return filepath.Join(dir, "uid.db"), nil
}

// openDSN opens d and pings it once.
func openDSN(ctx context.Context, d dsn) (db *gorm.DB, err error) {
	config := &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true}
	switch d.dialect {
	case mysqlDialect:
		db, err = workernode.OpenMySQL(d.source)
	case postgresDialect:
		db, err = gorm.Open(postgres.Open(d.source), config)
	case sqliteDialect:
		db, err = openSQLite(d.source, config)
	}
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	if err := pool.PingContext(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return db, nil
}

// openSQLite opens the file at path, creating it if need be. One connection, because SQLite has one writer; others wait
// for it at the file lock for up to 10 s, and transactions take that lock when they begin, so that none fails halfway.
func openSQLite(path string, config *gorm.Config) (*gorm.DB, error) {
	// Opening for writing first gives the operating system's reason, where SQLite says "unable to open database file".
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	db, err := gorm.Open(sqlite.Open(path+"?_pragma=busy_timeout(10000)&_txlock=immediate"), config)
	if err != nil {
		return nil, err
	}
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	pool.SetMaxOpenConns(1)
	return db, nil
}

// closeDB closes the connections of db.
func closeDB(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}

// explain says which database err is about, and what a deadline that passed means here. ctx is the one that the
// timeout bounds.
func (f *dsnFlags) explain(ctx context.Context, d dsn, err error) error {
	if errors.Is(err, context.DeadlineExceeded) && errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("%s: no answer within %v (--timeout): %w", d.display, f.Timeout, err)
	}
	if _, ok := asUsage(err); ok {
		return err // about the command line, not the database
	}
	return fmt.Errorf("%s: %w", d.display, err)
}
