package main

import (
	"strings"

	"github.com/glebarez/sqlite"
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
		return gorm.Open(postgres.Open(dsn), config)
	}
	return workernode.OpenMySQL(dsn)
}
