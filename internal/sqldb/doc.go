// Package sqldb is the database layer that worker ids and segments share. It runs statements on
// MySQL, MariaDB, PostgreSQL and SQLite through the pool of a *gorm.DB.
//
// Every statement runs inside Do, which makes sure that its changes are committed, whatever the
// application has set or begun in the session. Retry calls a function again while the database is
// down, and Create creates the tables.
//
// The package uses the pool and bypasses GORM. Callbacks, plug-ins and the SQL log of the
// application see none of its statements, and a plug-in that sends reads to a replica cannot answer
// with old rows.
package sqldb
