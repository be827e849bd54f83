// Package sqldb is the database layer that worker ids and segments share: MySQL, MariaDB,
// PostgreSQL and SQLite through the pool of a *gorm.DB.
//
// Every statement runs inside Do, which makes sure that what it did is committed, whatever the
// application has set its sessions to or begun on them. Retry calls Do again while the database is
// down, and Create makes the tables.
//
// The package needs the pool, not GORM: callbacks, plug-ins and the SQL log of the application see
// none of its statements, and a plug-in that sends reads to a replica cannot answer with old rows.
package sqldb
