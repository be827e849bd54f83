// Package segment tests number segments on PostgreSQL and SQLite. The tests on MariaDB are in the
// packages themselves.
package segment
