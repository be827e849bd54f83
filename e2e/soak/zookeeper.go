package main

import (
	"slices"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/internal/dbtest"
)

// zooKeeper is a ZooKeeper of one server.
var zooKeeper = authority{
	kinds:  etcdCluster.kinds,
	faults: slices.Concat(unreliable("until_ms"), outages(), []fault{restored(openZooKeeper)}),
	start:  func() (*dbtest.Server, error) { return dbtest.NewZooKeeper() },
	dsn:    func(srv *dbtest.Server, addr string) string { return srv.DSNVia(addr, "soak") },
}

func openZooKeeper(dsn string) (*lease.Assigner, error) { return zookeeper.Open(dsn, nil) }
