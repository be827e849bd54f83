package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/uidring/uidring/internal/dbtest"
)

// postgreSQL is a PostgreSQL.
var postgreSQL = authority{
	kinds: mariaDB.kinds,
	faults: slices.Concat(unreliable("UPDATE WORKER_LEASE"), outages(), []fault{
		{"tables: locked", func(in *injector, lasts time.Duration) (func() error, error) {
			ended := make(chan error, 1)
			go func() {
				ended <- in.then(fmt.Sprintf("BEGIN; LOCK TABLE WORKER_LEASE, WORKER_NODE; "+
					"SELECT PG_SLEEP(%.3f); COMMIT", lasts.Seconds()))()
			}()
			return func() error { return <-ended }, nil
		}},
	}),
	// Else a change that was prepared before is sent without its text.
	text:    "&default_query_exec_mode=exec",
	start:   postgresDialect.start(dbtest.NewPostgres),
	dsn:     func(_ *dbtest.Server, addr string) string { return postgresDialect.dsn(addr) },
	backup:  backUp(repairServer),
	numbers: true,
	remove:  removeLeases,
}
