package dsn

import (
	"context"
	"errors"
	"os"

	"github.com/glebarez/sqlite"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/uidring/uidring/assigner/workernode"
)

// Open opens s and makes sure that it answers.
func (s Source) Open(ctx context.Context) (*gorm.DB, error) {
	db, err := s.Pool()
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

// Pool opens s without making sure that it answers.
func (s Source) Pool() (db *gorm.DB, err error) {
	config := &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true}
	switch s.Dialect {
	case MySQL:
		db, err = workernode.OpenMySQL(s.name)
	case Postgres:
		db, err = gorm.Open(postgres.Open(s.name), config)
	default:
		db, err = openSQLite(s.name, config)
	}
	return db, err
}

// openSQLite opens the file at path, and creates it if need be. It allows one connection, because
// SQLite has one writer. Other processes wait for the file lock for up to 10 s, and transactions
// take that lock when they begin, so that none fails halfway.
func openSQLite(path string, config *gorm.Config) (*gorm.DB, error) {
	// Opening the file here first gives the operating system's reason, where SQLite only says
	// "unable to open database file".
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	name := path + "?_pragma=busy_timeout(10000)&_txlock=immediate"
	db, err := gorm.Open(sqlite.Open(name), config)
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

// Close closes the connections of db.
func Close(db *gorm.DB) error {
	pool, err := db.DB()
	if err != nil {
		return err
	}
	return pool.Close()
}
