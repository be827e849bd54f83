package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/cmd/uid/internal/dsn"
)

// dsnFlags are the flags of every command that uses a database.
type dsnFlags struct {
	DSN     string        `name:"dsn" placeholder:"DSN" help:"The database: mysql://, postgres://, sqlite:PATH or user:password@tcp(host)/db. For worker ids alone also etcd://host/namespace, zookeeper://host/namespace or kubernetes:[CLUSTERNAMESPACE/][NAMESPACE]. Default: the environment variable UID_DSN, else the embedded SQLite in the user's cache folder."`
	Timeout time.Duration `default:"10s" help:"How long to wait for the database."`
}

// open opens the database that --dsn names, or else UID_DSN, or else the embedded one, and makes
// sure that it answers before ctx ends. The caller closes it with dsn.Close.
func (f *dsnFlags) open(ctx context.Context, p *program) (*gorm.DB, dsn.Source, error) {
	s, err := f.resolve(p)
	if err != nil {
		return nil, s, err
	}
	bar := p.progress("waiting for "+s.Place, 0)
	defer bar.End()
	db, err := s.Open(ctx)
	if err != nil {
		return nil, s, f.explain(ctx, s, err)
	}
	return db, s, nil
}

// pool is open without the question whether the database answers.
func (f *dsnFlags) pool(_ context.Context, p *program) (*gorm.DB, dsn.Source, error) {
	s, err := f.resolve(p)
	if err != nil {
		return nil, s, err
	}
	db, err := s.Pool()
	if err != nil {
		return nil, s, fmt.Errorf("%s: %w", s.Place, err)
	}
	return db, s, nil
}

// use opens the database that the flags name, calls do and closes it again. The embedded database
// gets its tables first.
func (f *dsnFlags) use(
	ctx context.Context, p *program, do func(context.Context, *gorm.DB, dsn.Source) error,
) (err error) {
	within, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	db, s, err := f.open(within, p)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := dsn.Close(db); err == nil {
			err = closeErr
		}
	}()
	if s.Embedded {
		err = workernode.Migrate(within, db)
	}
	if err == nil {
		err = do(within, db, s)
	}
	if err != nil {
		return f.explain(within, s, err)
	}
	return nil
}

// resolve finds and parses the data source name. The redactor learns its passwords.
func (f *dsnFlags) resolve(p *program) (dsn.Source, error) {
	text, origin := f.address(p)
	if text == "" {
		return p.embedded()
	}
	if openerOf(text) != nil {
		return dsn.Source{}, usagef("%s: this needs a database, and %s has worker ids only", origin,
			p.redactor.Redact(text))
	}
	s, err := dsn.Parse(text)
	if err != nil {
		return dsn.Source{}, usagef("%s: %w", origin, err)
	}
	p.redactor.Secret(s.Secrets...)
	return s, nil
}

// address returns the data source name of the flag, or else of the environment, and the name of
// the one that has it.
func (f *dsnFlags) address(p *program) (text, origin string) {
	if f.DSN != "" {
		return strings.TrimSpace(f.DSN), "--dsn"
	}
	return strings.TrimSpace(p.getenv("UID_DSN")), "UID_DSN"
}

// embedded returns the embedded database and creates its folder. It does not fall back to a
// temporary folder: a database that is wiped hands the same worker ids out again.
func (p *program) embedded() (dsn.Source, error) {
	const hint = `name a database instead, for example --dsn sqlite:./uid.db`
	cache, err := p.cacheDir()
	if err == nil && !filepath.IsAbs(cache) {
		// Another working directory would mean another database, and the same worker ids again.
		err = fmt.Errorf("the cache folder %q is not an absolute path", cache)
	}
	dir := filepath.Join(cache, "uidring")
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	var s dsn.Source
	if err == nil {
		s, err = dsn.File(filepath.Join(dir, "uid.db"))
	}
	if err != nil {
		return dsn.Source{}, fmt.Errorf("no place for the embedded database: %w; %s", err, hint)
	}
	s.Place, s.Embedded = "embedded database "+filepath.Join(dir, "uid.db"), true
	return s, nil
}

// explain adds to err which database it is about, and --timeout if that has passed. ctx is the
// context that --timeout bounds.
func (f *dsnFlags) explain(ctx context.Context, s dsn.Source, err error) error {
	late := context.DeadlineExceeded
	switch {
	case isUsage(err):
		return err // about the command line, not the database
	case errors.Is(err, late) && errors.Is(context.Cause(ctx), late):
		what := "no answer"
		if dsn.Answered(err) { // such as a server that is read-only
			what = "no success"
		}
		return fmt.Errorf("%s: %s within %v (--timeout): %w", s.Place, what, f.Timeout, err)
	}
	return fmt.Errorf("%s: %w", s.Place, err)
}
