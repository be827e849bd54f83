// Package e2e tests the library from end to end on real databases: MariaDB, PostgreSQL and SQLite.
// Its module is that of tests, because it brings their drivers.
package e2e
