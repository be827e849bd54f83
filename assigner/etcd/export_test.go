package etcd

import (
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/lease"
)

// NewStore returns the Store of a namespace.
func NewStore(c *clientv3.Client, namespace string) lease.Store {
	return &store{client: c, endpoints: c.Endpoints(), namespace: namespace}
}
