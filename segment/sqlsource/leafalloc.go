package sqlsource

import (
	"cmp"

	"gorm.io/gorm"

	"github.com/uidring/uidring/segment"
)

// LeafAllocOptions are the options of LeafAlloc. nil means the defaults.
type LeafAllocOptions struct {
	Table string // name of the table; "leaf_alloc" by default

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two changes of a
	// row at the same time. Ids may then come twice. Default: they are refused.
	AcceptLostUpdates bool

	_ struct{} // keeps literals keyed
}

// LeafAlloc returns the Source over Leaf's table leaf_alloc: a row per tag with max_id, the first
// id that was not handed out yet, and step. It uses the columns biz_tag, max_id and step, and
// update_time outside MySQL. Leaf may use the table at the same time, because both claim [max_id,
// max_id+step).
//
// A Fetch with a step is one statement in a transaction of its own: on MySQL and MariaDB "max_id =
// LAST_INSERT_ID(max_id + step)", whose result comes back with the update; on PostgreSQL and SQLite
// an UPDATE with RETURNING. Without a step it locks the row and reads the step first.
//
// The Source is a Lister, Finder, Setter, Deleter, Returner and Checker. Every method reports a
// wrong option, or a db that cannot be used.
func LeafAlloc(db *gorm.DB, opts *LeafAllocOptions) segment.Source {
	if opts == nil {
		opts = &LeafAllocOptions{}
	}
	t := &table{name: cmp.Or(opts.Table, "leaf_alloc"), columns: columns{
		tag: "biz_tag", at: "max_id", step: "step", maxTag: 128, first: 1, touch: ", update_time = {now}",
	}}
	return t.open("LeafAlloc", db, opts.AcceptLostUpdates)
}
