// Package workernode assigns worker ids from a database, through GORM: MySQL, MariaDB, PostgreSQL and SQLite.
//
// Disposable gives every start of a process a worker id that nobody had before and nobody gets again: the key of a new row of
// WORKER_NODE. Leased keeps worker ids in WORKER_LEASE and assigns them again once they were given back or their window
// has passed, so that restarts do not use them up. Both take new worker ids from WORKER_NODE and so may run side by side on one
// database: changing from one to the other, in either direction and while the service runs, takes nothing but the
// change.
//
// The tables are made by Migrate, or by hand from package sql. Neither account nor pool have to be the application's own: the
// account needs SELECT, INSERT and UPDATE on the two tables, and one connection at a time is used.
//
// Everything goes to the pool that the *gorm.DB holds, past its callbacks and plugins: a plugin that sends reads to a replica
// would answer with the past.
package workernode
