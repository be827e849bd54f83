package main

import (
	"context"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/e2e/internal/soak"
	"github.com/uidring/uidring/internal/dbtest"
)

// etcdCluster is an etcd of one member.
var etcdCluster = authority{
	kinds: []kind{
		{cached, leased}, {standard, leased}, {lanes, leased}, {runOne, leased},
		{cached, leased}, {standard, leased}, {cached, numbered},
	},
	faults: slices.Concat(unreliable("until_ms"), outages(), []fault{restored}),
	start:  func() (*dbtest.Server, error) { return dbtest.NewEtcd() },
	dsn: func(srv *dbtest.Server, addr string) string {
		return srv.DSNVia(addr, "soak")
	},
}

// restored is a fault that puts etcd back to its state when the fault began, and repairs it as the
// documents say, while no process can connect.
var restored = fault{"server: restored from a backup, and repaired",
	func(in *injector, _ time.Duration) (func() error, error) {
		restore, err := in.srv.Backup()
		return func() error {
			in.proxy.Set(dbtest.Refuse)
			defer in.proxy.Set(dbtest.None)
			if err := restore(); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
			defer cancel()
			a, err := etcd.Open(in.srv.DSN("soak"), nil)
			if err != nil {
				return err
			}
			defer a.Close()
			return a.Restore(ctx, in.fleet.highest(), in.fleet.lease+maxLead)
		}, err
	}}
