package workernode

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/uidring/uidring/internal/sqldb"
	"github.com/uidring/uidring/internal/workertable"
)

// The tables' names, as messages show them.
const (
	nodeTable  = workertable.NodeTable
	leaseTable = workertable.LeaseTable
)

// header is the WORKER_ID of the row that stands for a namespace itself, and everywhere the
// namespace of the row that has the floor of new windows: see package sqlstore.
const (
	header     = -1
	everywhere = ""
)

// newNonce returns a random number that tells a change from all others. It is 63 bits wide, because
// the column is signed.
func newNonce() int64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return int64(binary.LittleEndian.Uint64(b[:]) >> 1)
}

// highestNode returns the highest worker id in WORKER_NODE, 0 for none.
func highestNode(ctx context.Context, q *sqldb.Conn) (int64, error) {
	return workertable.Highest(ctx, q)
}

// databaseTime returns the database's time in Unix milliseconds.
func databaseTime(ctx context.Context, q *sqldb.Conn) (now int64, err error) {
	return workertable.Now(ctx, q)
}
