// Package sqldb is the database layer that worker ids and segments share. It runs statements on
// MySQL, MariaDB, PostgreSQL and SQLite through a *sql.DB. Package sqlgorm gets that from GORM.
//
// Every statement runs inside Do, which makes sure that its changes are committed, whatever the
// application has set or begun in the session. Retry calls a function again while the database is
// down, and Create creates the tables.
package sqldb
