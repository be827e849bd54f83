package etcd

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/slots"
)

// NewStore returns the Store on a prefix.
func NewStore(c *clientv3.Client, prefix string) slots.Store {
	return &store{c.KV, prefix, c.Endpoints()}
}
