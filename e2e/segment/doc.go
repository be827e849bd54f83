// Package segment tests number segments on PostgreSQL and SQLite; MariaDB is tested in the package.
package segment
