package workertable

import (
	"context"
	"sync/atomic"

	"github.com/uidring/uidring/internal/sqldb"
)

// KeyColumns are the columns of each table's primary key. An INSERT of a row that another process
// has inserted has to fail, or both have its worker id.
var KeyColumns = map[string][]string{
	NodeTable:  {"ID"},
	LeaseTable: {"NAMESPACE", "WORKER_ID"},
}

// Keys are the tables whose keys an Assigner relies on. It is safe for concurrent use.
type Keys struct {
	Tables []string
	seen   atomic.Bool // the keys are there, so no further Assign asks
}

// Require returns an error if a table lacks its key. It asks the database until it has seen all of
// them once: two Assigns that begin at the same time may both ask.
func (k *Keys) Require(ctx context.Context, d *sqldb.DB) error {
	if k.seen.Load() {
		return nil
	}
	for _, t := range k.Tables {
		if d.InfersKey(ctx, t, KeyColumns[t]...) {
			continue
		}
		if err := d.RequireKey(ctx, t, KeyColumns[t]...); err != nil {
			return err
		}
	}
	k.seen.Store(true)
	return nil
}
