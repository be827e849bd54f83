// Package sqltable implements segment.Source over the tables of three systems in wide use, on
// MySQL, MariaDB, PostgreSQL and SQLite, over a *sql.DB. A program that uses it links no GORM;
// package sqlsource is the same for programs that have a *gorm.DB.
//
//	db := sqltable.DB{Pool: pool, Dialect: "mysql"}
//	err := sqltable.Migrate(ctx, db, "leaf_alloc")
//	...
//	gen, err := segment.New(ctx, sqltable.LeafAlloc(db, nil), nil)
//
// The sources:
//
//   - LeafAlloc: Leaf's leaf_alloc, a row per tag with the next free id and a step.
//   - Sequence: t_sequence, a row per name with a current value and an increment.
//   - Ticket: ticket servers, databases whose AUTO_INCREMENT columns count in steps from different
//     offsets.
//
// The tables are those of the original systems, which may use them at the same time. Migrate
// creates tables that are missing.
//
// # Why no range is handed out twice
//
// A Fetch advances the counter in one statement, under the row's lock. It returns the ids that the
// counter passed only after the database has confirmed the commit. If the answer does not come, or
// says that the commit failed, Fetch returns an error: the range may be a gap, and its ids are not
// used.
//
// Package sqldb makes sure that the statement is committed, even if the session has autocommit off,
// or went back to the pool inside a transaction that the application forgot. A range whose claim
// the server may still roll back is never returned. This costs a Fetch one statement before the
// claim, and on MySQL another one after it.
//
// The package cannot detect a database that loses committed changes: a replica that is promoted
// without the last writes, or a backup that is restored. A Generator therefore compares each range
// with the earlier ones.
//
// # Files
//
// db.go is a database. table.go is a table of counters, with its methods in fetch.go and admin.go.
// leafalloc.go and sequence.go define its columns, and period.go the counters of periods. ticket.go
// is the set of ticket servers and ticketserver.go one of them. ticketexam.go examines a server
// before it is used, and ticketback.go tells that one went back.
package sqltable
