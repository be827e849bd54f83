package main

import (
	"database/sql"
	"database/sql/driver"
	"strings"

	"github.com/glebarez/sqlite"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/assigner/workernode"
)

// isSQL reports whether a DSN is that of a SQL database.
func isSQL(dsn string) bool {
	return !strings.HasPrefix(dsn, "etcd:") && !strings.HasPrefix(dsn, "zookeeper:") &&
		!strings.HasPrefix(dsn, "kubernetes:")
}

// openSQL opens a database by the form of its DSN. It makes no connection, because the server may
// be away.
func openSQL(dsn string) (*gorm.DB, error) {
	config := &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true}
	switch {
	case strings.HasPrefix(dsn, "file:"):
		return gorm.Open(sqlite.Open(dsn), config)
	case strings.HasPrefix(dsn, "postgres:"):
		return openPostgres(dsn, config)
	}
	return workernode.OpenMySQL(dsn)
}

// openPostgres opens a PostgreSQL, or several with commas between their addresses.
func openPostgres(dsn string, config *gorm.Config) (*gorm.DB, error) {
	account, rest, _ := strings.Cut(dsn, "@")
	addrs, database, _ := strings.Cut(rest, "/")
	var hosts []driver.Connector
	for addr := range strings.SplitSeq(addrs, ",") {
		c, err := pgx.ParseConfig(account + "@" + addr + "/" + database)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, stdlib.GetConnector(*c))
	}
	if len(hosts) == 1 {
		return gorm.Open(postgres.Open(dsn), config)
	}
	connector, err := workernode.Hosts(hosts...)
	if err != nil {
		return nil, err
	}
	return gorm.Open(postgres.New(postgres.Config{Conn: sql.OpenDB(connector)}), config)
}
