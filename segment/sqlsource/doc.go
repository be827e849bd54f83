// Package sqlsource has the segment.Sources over the tables of three systems in wide use, on MySQL,
// MariaDB, PostgreSQL and SQLite, through GORM:
//
//   - LeafAlloc: Leaf's leaf_alloc, a row per tag with the next free id and a step.
//   - Sequence: t_sequence, a row per name with a current value and an increment.
//   - Ticket: ticket servers, databases whose AUTO_INCREMENT columns count past each other.
//
// The tables are the originals', which may use them at the same time. Migrate makes those that are
// missing.
//
// # Why no range is handed out twice
//
// A Fetch advances the counter in one statement, which the database applies to one row at a time,
// and returns the ids that it passed over after the commit has been answered. An answer that does
// not come, or says that the commit failed, is an error: the range may be a gap, and nobody uses
// it.
//
// The statement commits itself, and package sqldb makes sure of it: it does not matter whether the
// session has autocommit off, or went back to the pool inside of a transaction that the application
// forgot. A claim that the server rolls back later is never reported. That costs a Fetch a
// statement before, and with MySQL another one after.
//
// What the package cannot see is a database that forgets what it has committed: a replica that is
// promoted without the last writes, or a backup that is restored. There a Generator compares each
// range with those that it has seen before.
//
// # Files
//
// table.go is a table of counters, with fetch.go and admin.go its methods; leafalloc.go and
// sequence.go say which columns it has. ticket.go is the set of ticket servers, ticketserver.go one
// of them, ticketexam.go what makes it fit for use, and ticketplan.go how to add one.
package sqlsource
