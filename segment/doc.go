// Package segment makes ids that are short and dense, tag by tag, from number segments: a database's counter hands out
// whole ranges, and each process counts through its own in memory.
//
// A Source hands out disjoint ranges. LeafAlloc, Sequence and Ticket are the sources over the tables of three systems in
// wide use, on MySQL, MariaDB, PostgreSQL and SQLite. A Generator holds two ranges per tag and fetches the next one while
// the current one is in use, so that Next is one atomic add and the database's latency shows in no call.
//
// What it does not give: ids of different processes interleave range-wise, so they only tend to rise, and whoever sees
// two ids learns how many lie between them. docs/segment.md says which requirement calls for which generator.
package segment
