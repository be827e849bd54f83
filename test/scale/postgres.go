package main

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/assigner/workernode"
	"github.com/uidring/uidring/internal/dbtest"
)

// postgresServer is a source of worker ids that the tables of package workernode keep in a
// PostgreSQL.
type postgresServer struct{ *dbtest.Server }

// newPostgres starts a PostgreSQL that writes every commit to the disk.
func newPostgres(connections int) (postgresServer, error) {
	srv, err := dbtest.NewPostgres("-cfsync=on", fmt.Sprintf("-cmax_connections=%d", connections))
	return postgresServer{srv}, err
}

func openPostgres(dsn string) (*gorm.DB, error) {
	return gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Discard})
}

func (s postgresServer) job(kind string) job { return job{Kind: kind, DSN: s.DSN(database)} }

// reset makes the database and its tables anew.
func (s postgresServer) reset() error {
	for _, statement := range []string{"DROP DATABASE IF EXISTS " + database + " WITH (FORCE)",
		"CREATE DATABASE " + database} {
		if _, err := s.TryQuery("", statement); err != nil {
			return err
		}
	}
	db, err := openPostgres(s.DSN(database))
	if err != nil {
		return err
	}
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return errors.Join(workernode.Migrate(context.Background(), db), pool.Close())
}

// counters reads nothing: PostgreSQL counts when a session ends or pauses, later than a start does.
func (postgresServer) counters() (map[string]int64, error) { return nil, nil }

func (s postgresServer) pass() error { return passRows(s.Server) }
