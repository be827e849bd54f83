// Package segment tests number segments on PostgreSQL and SQLite; MariaDB is tested beside the package.
package segment
