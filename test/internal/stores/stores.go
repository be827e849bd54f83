// Package stores opens what worker ids come from by the addresses of package dbtest.
package stores

import (
	"net/url"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/zookeeper"
)

// Etcd opens etcd://host:port/namespace.
func Etcd(dsn string, o lease.Options) (*lease.Assigner, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	return etcd.Open(clientv3.Config{Endpoints: []string{"http://" + u.Host}},
		&etcd.Options{Namespace: u.Path, Lease: o})
}

// ZooKeeper opens zookeeper://host:port/namespace.
func ZooKeeper(dsn string, o lease.Options) (*lease.Assigner, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, err
	}
	return zookeeper.Open([]string{u.Host}, &zookeeper.Options{Namespace: u.Path, Lease: o})
}
