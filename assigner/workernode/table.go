package workernode

import "github.com/uidring/uidring/internal/workertable"

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
