package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// mariaDB is a MariaDB.
var mariaDB = authority{
	kinds: []kind{
		{cached, leased}, {standard, leased}, {runOne, leased},
		{lanes, ranged}, {cached, ranged}, {standard, ranged},
		{cached, disposable}, {cached, numbered}, {cached, served},
	},
	faults: slices.Concat(unreliable("WORKER_LEASE SET"), outages(), databaseFaults),
	// A change is one request instead of two, so that a lost answer is the answer to the change,
	// and not to its preparation.
	text:  "&interpolateParams=true",
	start: mysqlDialect.start(dbtest.NewMariaDB),
	dsn: func(_ *dbtest.Server, addr string) string {
		return mysqlDialect.dsn(addr) + "?parseTime=true&timeout=2s&readTimeout=2s"
	},
	backup:  backUp(repairServer),
	numbers: true,
	remove:  removeLeases,
}

// repairServer is the repairFunc of a server with tables.
func repairServer(
	ctx context.Context, in *injector, highest int64, reach time.Duration,
) error {
	return repairTables(ctx, in, in.srv.DSN(database), highest, reach)
}

// removeLeases deletes the rows of worker ids.
func removeLeases(in *injector, workers ...int64) error {
	_, err := in.srv.TryQuery(database, deleteLeases(workers))
	return err
}

// databaseFaults are the faults that only a database has.
var databaseFaults = []fault{
	{"server: read-only", func(in *injector, _ time.Duration) (func() error, error) {
		return in.then("SET GLOBAL read_only = OFF"), in.then("SET GLOBAL read_only = ON")()
	}},
	{"tables: locked", func(in *injector, lasts time.Duration) (func() error, error) {
		ended := make(chan error, 1)
		go func() {
			ended <- in.then(fmt.Sprintf("LOCK TABLES WORKER_LEASE WRITE, WORKER_NODE WRITE; "+
				"DO SLEEP(%.3f)", lasts.Seconds()))()
		}()
		return func() error { return <-ended }, nil
	}},
	{"tables: full (error 1114 from triggers)",
		func(in *injector, _ time.Duration) (func() error, error) {
			var add, drop []string
			for i, at := range []string{
				"UPDATE ON WORKER_LEASE", "INSERT ON WORKER_LEASE", "INSERT ON WORKER_NODE",
			} {
				add = append(add, fmt.Sprintf("CREATE TRIGGER full%d BEFORE %s FOR EACH ROW "+
					"SIGNAL SQLSTATE 'HY000' "+
					"SET MYSQL_ERRNO = 1114, MESSAGE_TEXT = 'The table is full'", i, at))
				drop = append(drop, fmt.Sprintf("DROP TRIGGER IF EXISTS full%d", i))
			}
			return in.then(drop...), in.then(add...)()
		}},
}

// then returns a function that runs statements on the server, without the proxy.
func (in *injector) then(statements ...string) func() error {
	return func() error {
		var errs []error
		for _, s := range statements {
			_, err := in.srv.TryQuery(database, s)
			errs = append(errs, err)
		}
		return errors.Join(errs...)
	}
}
