package sqltable

import (
	"cmp"

	"github.com/uidring/uidring/segment"
)

// LeafAllocOptions are the options of LeafAlloc. nil means the defaults.
type LeafAllocOptions struct {
	Table string // name of the table; "leaf_alloc" by default

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two concurrent
	// changes of a row. Ids may then repeat. By default these databases are refused.
	AcceptLostUpdates bool

	_ struct{} // keeps literals keyed
}

// LeafAlloc returns a Source over Leaf's table leaf_alloc, which has a row per tag with max_id, the
// first id that was not handed out yet, and step. It uses the columns biz_tag, max_id and step, and
// update_time outside MySQL. Leaf may use the table at the same time, because both claim [max_id,
// max_id+step).
//
// A Fetch with a step is one statement that commits itself: on MySQL and MariaDB "max_id =
// LAST_INSERT_ID(max_id + step)", whose value comes back with the update; on PostgreSQL and SQLite
// an UPDATE with RETURNING. A Fetch without a step reads the row's step first.
//
// The Source is a Lister, Finder, Setter, Deleter, Returner, Periods and Checker. Every method
// returns the error of an invalid option or db.
func LeafAlloc(db DB, opts *LeafAllocOptions) segment.Source {
	if opts == nil {
		opts = &LeafAllocOptions{}
	}
	t := &table{name: cmp.Or(opts.Table, "leaf_alloc"), columns: columns{
		tag: "biz_tag", at: "max_id", step: "step",
		maxTag: 128, first: 1, touch: ", update_time = {now}",
	}}
	return t.open("LeafAlloc", db, opts.AcceptLostUpdates)
}
