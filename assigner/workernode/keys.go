package workernode

import (
	"context"
	"sync/atomic"

	"github.com/uidring/uidring/internal/sqldb"
)

// keyColumns are the columns of each table's primary key. An INSERT of a row that another process
// has inserted has to fail, or both have its worker id.
var keyColumns = map[string][]string{
	nodeTable:  {"ID"},
	leaseTable: {"NAMESPACE", "WORKER_ID"},
}

// keys are the tables whose keys an Assigner relies on. It is safe for concurrent use.
type keys struct {
	tables []string
	seen   atomic.Bool // the keys are there, so no further Assign asks
}

// require returns an error if a table lacks its key. It asks the database until it has seen all of
// them once: two Assigns that begin at the same time may both ask.
func (k *keys) require(ctx context.Context, d *sqldb.DB) error {
	if k.seen.Load() {
		return nil
	}
	for _, t := range k.tables {
		if err := d.RequireKey(ctx, t, keyColumns[t]...); err != nil {
			return err
		}
	}
	k.seen.Store(true)
	return nil
}
