// Package segment makes ids that are short and dense, tag by tag, from number segments: a
// database's counter hands out whole ranges, and each process counts through its own in memory.
//
//	g, err := segment.New(ctx, sqlsource.LeafAlloc(db, nil), nil)
//	id, err := g.Next(ctx, "order")
//
// A Source hands out disjoint ranges. Package sqlsource has the sources over the tables of three
// systems in wide use, on MySQL, MariaDB, PostgreSQL and SQLite. A Generator holds two ranges per
// tag and fetches the next one while the current one is in use, so that Next is one atomic add and
// the latency of the database shows in no call.
//
//	             Fetch                       mark: fetch the next one
//	Source ──────────────► ready ──► in use ├────┼──────────────────────┤ used up
//	                                        └─ Next: one atomic add ────┘
//
// Ids of different processes interleave by ranges, so they only tend to rise, and a reader of two
// ids learns how many lie between them. docs/segment.md says which requirement calls for which
// generator.
//
// # Terms
//
//   - tag: the name of a counter, such as "order". Tags do not touch each other.
//   - range, or segment: a stretch of ids that a source hands out once, to one process.
//   - step: how many ids a range has. The source stores one per tag; the Generator asks for more
//     where ranges are used up fast.
//   - buffer: a range that is handed out, with the word that callers add to.
//   - mark: the id of a range whose taker has the next range fetched.
//   - held: a buffer whose ids are handed out in turn, to callers that wait, and not by adds.
//   - origin: one of several independent counters of a tag, such as a ticket server.
//
// # Files
//
// source.go and errors.go are the contract of a source. buffer.go is the word that a range is
// handed out by, and why no id is handed out twice. tag.go is the path of a call that finds an id,
// queue.go that of a call that does not. load.go fetches, step.go says how much, and guard.go
// checks what comes. generator.go finds tags and closes them, refresh.go follows the source's list.
package segment
