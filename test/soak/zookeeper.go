package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/stores"
)

// zooKeeper is a ZooKeeper of one server.
var zooKeeper = authority{
	kinds:  etcdCluster.kinds,
	faults: slices.Concat(unreliable("until_ms"), outages()),
	start:  func() (*dbtest.Server, error) { return dbtest.NewZooKeeper() },
	dsn:    func(srv *dbtest.Server, addr string) string { return srv.DSNVia(addr, "soak") },
	backup: backUp(repairLeases(openZooKeeper)),
	remove: removeNodes,
}

// openZooKeeper opens the server's slots, without the proxy.
func openZooKeeper(in *injector, o lease.Options) (*lease.Assigner, error) {
	return stores.ZooKeeper(in.srv.DSN("soak"), o)
}

// removeNodes deletes the nodes of worker ids' slots.
func removeNodes(in *injector, workers ...int64) error {
	c, _, err := zk.Connect([]string{in.srv.Addr()}, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		return err
	}
	defer c.Close()
	for _, worker := range workers {
		err := c.Delete(fmt.Sprint("/soak/", "slot-", worker), -1)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return nil
}
