// Package sqlstore keeps worker ids in the table WORKER_LEASE of MySQL, MariaDB, PostgreSQL or
// SQLite, over a *sql.DB: it is a store of package assigner/lease. A program that uses it links no
// GORM. Package assigner/workernode is the way in for programs that have a *gorm.DB.
//
//	err := sqlstore.Migrate(ctx, db, "mysql", nil)
//	...
//	store, err := sqlstore.New(db, "mysql", nil)
//	...
//	workers, err := lease.New(store, nil)
//	...
//	gen, err := uid.NewCached(ctx, workers, nil)
//
// # The table
//
// WORKER_LEASE has a row for each worker id of each namespace that was ever leased, and one with
// the worker id -1 for the namespace itself, its header. Each change of a row is a compare-and-set
// on GENERATION, NONCE and UNTIL_MS, of the header, whose GENERATION is the name of the universe of
// ids, on LAYOUT, NONCE and UNTIL_MS. No row is ever deleted. New worker ids of the namespace
// "default" are the keys that the database generates for WORKER_NODE, which it shares with
// workernode.Disposable. Other namespaces count for themselves, from the lowest worker id that was
// never given out: each row there has a note, a row with the WORKER_ID -2 less its own, which keeps
// its worker id from being given out again if the row is deleted by hand.
//
// The tables are made by Migrate, or by hand from the DDL of package sql. The account needs SELECT,
// INSERT and UPDATE on both.
//
// # What a change is
//
// A change counts when it is committed, whatever the application has set its sessions to or begun
// on them: each use of a connection begins with a COMMIT, and on MySQL every change and every read
// that locks ends with one. All calls of one attempt use one connection. So a Put that
// has returned nil is committed, and a Get, which reads FOR UPDATE, waits for a change that is
// under way and shows what is committed. That matters on PostgreSQL too: a plain SELECT there shows
// a row as it was before a change whose COMMIT is on its way, so a claim that reads its row back
// after a lost answer would take the change for one that was not made, and it is made a moment
// later.
//
// The database must not lose a commit that it has acknowledged: see docs/workers.md.
//
// A program that changes to this authority from another one repeats ids, unless lease.Move has
// moved them.
package sqlstore
