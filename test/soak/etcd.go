package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
	"github.com/uidring/uidring/test/internal/stores"
)

// etcdCluster is an etcd of one member.
var etcdCluster = authority{
	kinds: []kind{
		{cached, leased}, {standard, leased}, {lanes, leased}, {runOne, leased},
		{cached, leased}, {standard, leased}, {cached, numbered},
	},
	faults: slices.Concat(unreliable("until_ms"), outages()),
	start:  func() (*dbtest.Server, error) { return dbtest.NewEtcd() },
	dsn: func(srv *dbtest.Server, addr string) string {
		return srv.DSNVia(addr, "soak")
	},
	backup: backUp(repairLeases(openEtcd)),
	remove: removeKeys,
}

// openEtcd opens the server's slots, without the proxy.
func openEtcd(in *injector, o lease.Options) (*lease.Assigner, error) {
	return stores.Etcd(in.srv.DSN("soak"), o)
}

// removeKeys deletes the keys of worker ids' slots.
func removeKeys(in *injector, workers ...int64) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{in.srv.Addr()},
		DialTimeout: soak.Comeback, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
	defer cancel()
	for _, worker := range workers {
		if err == nil {
			_, err = c.Delete(ctx, fmt.Sprint("/soak/", "slot-", worker))
		}
	}
	return errors.Join(err, c.Close())
}
