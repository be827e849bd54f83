// Package segment makes short, dense ids from number segments. A counter in a database hands out
// whole ranges, and each process counts through its ranges in memory. Each tag has its own counter.
//
//	db := sqltable.DB{Pool: pool, Dialect: "mysql"}
//	g, err := segment.New(ctx, sqltable.LeafAlloc(db, nil), nil)
//	id, err := g.Next(ctx, "order")
//
// A Source hands out disjoint ranges. Package sqltable has sources over the tables of three
// systems in wide use, on MySQL, MariaDB, PostgreSQL and SQLite. A Generator holds two ranges per
// tag and fetches the next one while the current one is in use. Next is then one atomic add, and no
// call waits for the database unless both ranges are used up.
//
//	             Fetch                       mark: fetch the next one
//	Source ──────────────► ready ──► in use ├────┼──────────────────────┤ used up
//	                                        └─ Next: one atomic add ────┘
//
// Ids of different processes interleave range by range, so across processes they are only roughly
// increasing. Ids are guessable: two of them show how many lie between. docs/segment.md compares
// the generators by requirement.
//
// # Concurrency and lifetime
//
// All methods of a Generator and of a Tag are safe for concurrent use. Make one Generator per
// process and source, share it between all goroutines, and close it at the end.
//
// New does I/O where the source can be checked or listed. The first call for a tag waits for its
// first range. Next and Fill wait only when both ranges are used up, honour the caller's ctx while
// they do, and read it only then. No method holds a lock while it waits or asks the source.
//
// Close ends the goroutines and waits for them. With Options.Checkpoint it gives unused ids back.
//
// # When something fails
//
//	the source is away          ids of the two ranges, then calls wait until it is back or their
//	                            ctx ends
//	the counter went back       ids that are left, then ErrRangeWentBack until it is raised
//	the counter is used up      ids that are left, then ErrExhausted
//	a range is invalid          ids that are left, then ErrBadRange until the row is repaired
//	the tag's row is deleted    ErrUnknownTag as soon as a fetch or a refresh finds out
//	the process is killed       what it held is a gap: two ranges of each tag at most
//
// Stats has the error of each tag and of the last listing, and a Logger gets a line when a source
// fails and when it is back.
//
// # Terms
//
//   - tag: the name of a counter, such as "order". Tags are independent of each other.
//   - range, or segment: an interval of ids that a source hands out once, to one process.
//   - step: the number of ids in a range. The source stores one per tag. The Generator asks for
//     more when ranges are used up fast.
//   - buffer: a range in use, with the word that callers add to.
//   - mark: the position in a range at which the next range is fetched. The caller that takes the
//     id there starts the fetch.
//   - held: the state of a buffer whose ids go to waiting callers in order, and not to adds.
//   - origin: one of several independent counters of a tag, such as a ticket server.
//
// # Files
//
// source.go and errors.go are the contract of a source. buffer.go hands out the ids of one range
// and says why no id is handed out twice. tag.go is the path of a call that finds an id, and
// queue.go that of a call that has to wait. load.go fetches ranges, step.go decides their length,
// and guard.go checks what arrives. generator.go looks up and closes tags. refresh.go follows the
// source's list of tags. period.go has counters that begin anew each day. fetch.go makes a
// Generator a Source. stranger.go bounds the cost of unknown names.
package segment
