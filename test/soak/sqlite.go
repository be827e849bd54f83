package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
	"github.com/uidring/uidring/test/internal/uidcommand"
)

// newSQLite returns a database file of SQLite, which has neither server nor network.
func newSQLite() *authority {
	var dir string // set by start
	path := func(name string) string { return filepath.Join(dir, name) }
	address := func(name string) string {
		return "file:" + path(name) + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
	}
	// The operator waits for a process that was paused in the middle of a change. The processes
	// give up earlier, and try again.
	operator := func() (session, error) {
		return take(strings.Replace(address("soak.db"), "(5000)", "(30000)", 1))
	}
	return &authority{
		kinds: mariaDB.kinds[:8],
		faults: []fault{
			{"file: locked", func(*injector, time.Duration) (func() error, error) {
				c, err := operator()
				if err != nil {
					return nil, err
				}
				return c.leave, c.run("BEGIN IMMEDIATE")
			}},
		},
		start: func() (_ *dbtest.Server, err error) {
			if dir, err = os.MkdirTemp("", "uidring-soak-"); err != nil {
				return nil, err
			}
			return nil, migrate(address("soak.db"))
		},
		end:     func() { os.RemoveAll(dir) },
		dsn:     func(*dbtest.Server, string) string { return address("soak.db") },
		numbers: true,
		alone: func(do func()) error {
			c, err := operator()
			if err != nil {
				return err
			}
			if err = c.run("BEGIN IMMEDIATE"); err == nil {
				do()
			}
			return errors.Join(err, c.leave())
		},
		remove: func(_ *injector, workers ...int64) error {
			c, err := operator()
			if err != nil {
				return err
			}
			return errors.Join(c.run(deleteLeases(workers)), c.leave())
		},
		backup: func(*injector) (backup, error) {
			c, err := operator()
			if err != nil {
				return nil, err
			}
			kept := path("kept.db")
			_ = os.Remove(kept) // there may be none
			err = errors.Join(c.run("VACUUM INTO '"+kept+"'"), c.leave())
			return func(in *injector, highest func() int64, reach time.Duration) error {
				return replace(operator, address, path, in, highest, reach)
			}, err
		},
	}
}

// replace puts what kept.db has in place of what soak.db has. Processes have the file open, so the
// file stays: they see the old rows or the repaired ones, and never those of the backup.
func replace(operator func() (session, error), address, path func(name string) string,
	in *injector, highest func() int64, reach time.Duration) error {
	text, err := os.ReadFile(path("kept.db"))
	if err == nil {
		err = os.WriteFile(path("repaired.db"), text, 0o600)
	}
	if err != nil {
		return err
	}
	c, err := operator()
	if err != nil {
		return err
	}
	err = c.run("BEGIN IMMEDIATE")
	if err == nil && in.fleet.broken != unrepaired {
		ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
		defer cancel()
		err = repairTables(ctx, in, address("repaired.db"), highest(), reach)
	}
	if err == nil {
		err = c.run("ATTACH '" + path("repaired.db") + "' AS old")
	}
	for _, table := range []string{"WORKER_NODE", "WORKER_LEASE", "sqlite_sequence"} {
		if err == nil {
			err = c.run("DELETE FROM main."+table,
				fmt.Sprintf("INSERT INTO main.%s SELECT * FROM old.%s", table, table))
		}
	}
	if err == nil {
		err = c.run("COMMIT")
	}
	return errors.Join(err, c.leave())
}

// session is one connection of a SQL database.
type session struct {
	pool *sql.DB
	conn *sql.Conn
}

// take makes a connection.
func take(dsn string) (s session, err error) {
	db, err := openSQL(dsn)
	if err != nil {
		return s, err
	}
	if s.pool, err = db.DB(); err != nil {
		return s, err
	}
	s.conn, err = s.pool.Conn(context.Background())
	return s, err
}

// run runs statements.
func (s session) run(statements ...string) error {
	for _, text := range statements {
		ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
		_, err := s.conn.ExecContext(ctx, text)
		cancel()
		if err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// leave closes the connection, which ends its transaction.
func (s session) leave() error {
	_ = s.run("ROLLBACK") // an error where there is no transaction
	return errors.Join(s.conn.Close(), s.pool.Close())
}

// deleteLeases returns the statement that deletes the rows of worker ids.
func deleteLeases(workers []int64) string {
	list := strings.Trim(strings.ReplaceAll(fmt.Sprint(workers), " ", ","), "[]")
	return fmt.Sprintf("DELETE FROM WORKER_LEASE WHERE WORKER_ID IN (%s)", list)
}

// repairTables does what docs/operations.md tells the operator.
func repairTables(
	ctx context.Context, in *injector, dsn string, highest int64, reach time.Duration,
) error {
	_, err := uidcommand.Restored(ctx, in.command, dsn, highest, reach, "--layout", canonical())
	return err
}

// migrate makes the tables.
func migrate(dsn string) error {
	return withDB(dsn, func(db *gorm.DB) error {
		return workernode.Migrate(context.Background(), db)
	})
}

// withDB opens a database, and closes it when do has returned.
func withDB(dsn string, do func(db *gorm.DB) error) error {
	db, err := openSQL(dsn)
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return errors.Join(do(db), pool.Close())
}
