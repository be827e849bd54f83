// Package e2e tests the library from end to end on real databases: MariaDB, PostgreSQL and SQLite.
// It is a module of its own because it brings their drivers.
package e2e
