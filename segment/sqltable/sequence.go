package sqltable

import (
	"cmp"

	"github.com/uidring/uidring/segment"
)

// SequenceOptions are the options of Sequence. nil means the defaults.
type SequenceOptions struct {
	Table string // name of the table; "t_sequence" by default

	// FromCurrent makes a block [old current_val, new current_val) instead of the original's [new
	// current_val, new current_val + increment_val). The original never hands out the first block,
	// from 0 on, and its blocks overlap when increment_val is lowered by hand. All processes on the
	// table must agree, those of the original included.
	FromCurrent bool

	// Cycle makes a counter that is used up begin again at 0, under the row's lock, instead of
	// failing with ErrExhausted. Ids then repeat, and ErrRangeWentBack is not detected.
	Cycle bool

	// AcceptLostUpdates allows Dolt and Doltgres, which are known to lose one of two concurrent
	// changes of a row. Ids may then repeat. By default these databases are refused.
	AcceptLostUpdates bool

	_ struct{} // keeps literals keyed
}

// Sequence returns a Source over a table of named sequences, t_sequence(pk_seq_name, current_val,
// increment_val). A block is as long as the increment that the row stores. The update that claims
// it requires that the increment is still the one that was read, so processes cannot disagree about
// it. A Fetch takes as many blocks as hold step ids. With 0 and 1000 stored the first block is
// [1000, 2000), as in the original, which may use the table at the same time.
//
// The Source is a Lister, Finder, Setter, Deleter, Returner, Periods and Checker. Every method
// returns the error of an invalid option or db.
func Sequence(db DB, opts *SequenceOptions) segment.Source {
	if opts == nil {
		opts = &SequenceOptions{}
	}
	t := &table{
		name:   cmp.Or(opts.Table, "t_sequence"),
		blocks: true, ahead: !opts.FromCurrent, cycle: opts.Cycle,
		columns: columns{tag: "pk_seq_name", at: "current_val", step: "increment_val", maxTag: 50},
	}
	return t.open("Sequence", db, opts.AcceptLostUpdates)
}
