package main

import (
	"fmt"
	"slices"
	"strings"
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
	text: "&default_query_exec_mode=exec",
	start: func() (*dbtest.Server, error) {
		srv, err := dbtest.NewPostgres()
		if err != nil {
			return nil, err
		}
		for _, q := range []string{
			"CREATE DATABASE " + database,
			"CREATE USER " + account + " PASSWORD '" + dbtest.Password + "'",
		} {
			if _, err := srv.TryQuery("", q); err != nil {
				return srv, err
			}
		}
		if err := migrate(srv.DSN(database)); err != nil {
			return srv, err
		}
		_, err = srv.TryQuery(database, "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA "+
			"public TO "+account+"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO "+account)
		return srv, err
	},
	dsn: func(srv *dbtest.Server, addr string) string {
		return strings.Replace(srv.DSNVia(addr, database), "//"+dbtest.User+":", "//"+account+":",
			1)
	},
	backup:  backUp(repairServer),
	numbers: true,
	remove:  removeLeases,
}
