package etcd

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/lease"
)

// NewStore returns the Store on a prefix.
func NewStore(c *clientv3.Client, prefix string) lease.Store {
	return &store{c.KV, prefix, c.Endpoints()}
}
