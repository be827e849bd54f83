// Package workernode assigns worker ids from a database, through GORM: MySQL, MariaDB, PostgreSQL
// and SQLite.
//
// Disposable gives every start of a process a worker id that no start had before and none gets
// again: the key of a new row of WORKER_NODE. Leased keeps worker ids in WORKER_LEASE and assigns
// them again once they were given back or their window has passed, so that restarts do not use them
// up. In the namespace "default" both take new worker ids from WORKER_NODE and so may run side by
// side on one database: changing from one to the other, in either direction and while the service
// runs, takes nothing but the change. Any other namespace of Leased is a universe of ids of its
// own, whose ids may equal those of others.
//
// The glossary of [github.com/uidring/uidring/uid] has the words: claim, window, lease, fencing
// token, namespace, era. A node is a row of WORKER_NODE, and a header the row of WORKER_LEASE that
// is about a namespace itself.
//
// The tables are made by Migrate, or by hand from package sql. The application's
// account and pool will do: the account needs SELECT, INSERT and UPDATE on the two tables, and one
// connection at a time is used.
//
// # The tables
//
// WORKER_NODE has a row for each new worker id. Rows are inserted and never changed:
//
//	ID                    the worker id, a key that the database generates
//	HOST_NAME, PORT       which process got it, for people
//	TYPE                  1 in a container, 2 on a machine
//	LAUNCH_DATE           the day
//	CREATED, MODIFIED     the time
//
// WORKER_LEASE has a row for each worker id of each namespace that was ever leased, and one with
// the worker id -1 for the namespace itself. In namespaces other than "default" one with the worker
// id -2-n says that n was given out, whatever becomes of its row. Each change of a row is a
// compare-and-set on GENERATION and NONCE, and no row is ever deleted:
//
//	NAMESPACE, WORKER_ID  the primary key
//	GENERATION            the fencing token, one more with each change; of a header the
//	                      universe's name
//	NONCE                 a random number, which tells whose change it was when an answer is lost
//	OWNER                 which process has it, for people; empty: none
//	UNTIL_MS              the end of the reserved window, Unix milliseconds
//	LAYOUT                the bit layouts of the ids
//	CREATED, MODIFIED     the time
//
// A row's life, with windows of 20 minutes:
//
//	GENERATION  UNTIL_MS  OWNER
//	1           12:20     a      at 12:00 a claims a new worker id: from the beginning of time
//	2           12:30     a      at 12:10 a extends
//	3           12:14            at 12:14 a releases what it has not used
//	4           12:36     b      at 12:16 b claims: its window begins at 12:14
//
// # Statements
//
// What a call sends when nothing goes wrong. Only FOR UPDATE, UPDATE and INSERT lock, one row each,
// until the statement is committed. PostgreSQL reads the namespace FOR SHARE:
//
//	Disposable, Assign       INSERT of a node; SELECT of its lease
//	Leased, Assign           SELECT of the namespace; SELECT of the free rows; UPDATE of one of
//	                         them; SELECT of the namespace FOR UPDATE
//	with a new worker id     SELECT of the namespace; SELECT of the free rows; SELECT of the
//	                         highest node; INSERT of a node; SELECT of the namespace FOR UPDATE;
//	                         INSERT of a lease; SELECT of the namespace FOR UPDATE
//	Extend                   SELECT of the row FOR UPDATE; UPDATE; SELECT of the namespace FOR
//	                         UPDATE
//	Release                  SELECT of the row FOR UPDATE; UPDATE
//
// A namespace that counts for itself looks for an unused worker id in WORKER_LEASE instead of
// inserting a node, inserts its note with the lease, and inserts one before the first UPDATE of a
// row that the process has not inserted. An Assign asks the server for its product first, unless
// AcceptLostUpdates is set, and on MySQL compares the key of a node with LAST_INSERT_ID() once.
//
// # Connections
//
// Everything goes to the *sql.DB that the *gorm.DB holds, past its callbacks and plug-ins: a
// plug-in that sends reads to a replica would answer with old rows. A change counts when it is
// committed, whatever the application has set its sessions to or begun on them: each use of a
// connection begins with a COMMIT, and on MySQL each change and each FOR UPDATE ends with one. The
// statements of one attempt use one connection.
package workernode
