package main

import (
	"context"

	"gorm.io/gorm"

	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/segment/sqlsource"
)

// The worker processes use an account that has only the documented privileges. A read-only server
// refuses its changes, as it would not refuse those of an administrator.
const (
	database = "soak"
	account  = "app"
)

// dialect is what differs between the database servers.
type dialect struct {
	accounts []string // statements that make database and account
	granted  string   // a statement in the database, after the tables
	dsn      func(addrs string) string

	several string // added to that of a group
	group   string // one more statement on a group
}

var mysqlDialect = dialect{
	accounts: []string{
		"CREATE DATABASE " + database,
		"CREATE USER " + account + "@'%' IDENTIFIED BY '" + dbtest.Password + "'",
		"GRANT SELECT, INSERT, UPDATE ON " + database + ".* TO " + account + "@'%'",
	},
	group: "GRANT SELECT ON performance_schema.replication_group_members TO " + account + "@'%'",
	dsn: func(addrs string) string {
		return account + ":" + dbtest.Password + "@tcp(" + addrs + ")/" + database
	},
}

var postgresDialect = dialect{
	accounts: []string{
		"CREATE DATABASE " + database,
		"CREATE USER " + account + " PASSWORD '" + dbtest.Password + "'",
	},
	granted: "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO " + account +
		"; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO " + account,
	dsn: func(addrs string) string {
		return "postgres://" + account + ":" + dbtest.Password + "@" + addrs + "/" + database +
			"?sslmode=disable"
	},
	several: "&target_session_attrs=read-write",
}

// start returns the start of an authority of one server.
func (d dialect) start(
	start func(...string) (*dbtest.Server, error),
) func() (*dbtest.Server, error) {
	return func() (*dbtest.Server, error) {
		srv, err := start()
		if err != nil {
			return nil, err
		}
		return srv, d.prepare(srv)
	}
}

// prepare makes the database, its tables and the account.
func (d dialect) prepare(srv *dbtest.Server) error {
	for _, q := range d.accounts {
		if _, err := srv.TryQuery("", q); err != nil {
			return err
		}
	}
	dsn := srv.DSN(database)
	err := migrate(dsn)
	if err == nil {
		err = withDB(dsn, func(db *gorm.DB) error {
			return sqlsource.Migrate(context.Background(), db)
		})
	}
	if err == nil {
		_, err = srv.TryQuery(database, "INSERT INTO leaf_alloc (biz_tag, max_id, step) VALUES ('"+
			tag+"', 1, 1000)")
	}
	if err == nil && d.granted != "" {
		_, err = srv.TryQuery(database, d.granted)
	}
	return err
}
