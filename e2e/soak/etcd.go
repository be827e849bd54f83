package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/e2e/internal/soak"
	"github.com/uidring/uidring/internal/dbtest"
)

// etcdCluster is an etcd of one member.
var etcdCluster = authority{
	kinds: []kind{
		{cached, leased}, {standard, leased}, {lanes, leased}, {runOne, leased},
		{cached, leased}, {standard, leased}, {cached, numbered},
	},
	faults: slices.Concat(unreliable("until_ms"), outages(), []fault{restored(openEtcd)}),
	start:  func() (*dbtest.Server, error) { return dbtest.NewEtcd() },
	dsn: func(srv *dbtest.Server, addr string) string {
		return srv.DSNVia(addr, "soak")
	},
}

func openEtcd(dsn string) (*lease.Assigner, error) { return etcd.Open(dsn, nil) }

// restored returns the fault that puts the server back to its state when the fault began, and
// repairs it as the documents say, while no process can connect. open opens the server's slots.
func restored(open func(dsn string) (*lease.Assigner, error)) fault {
	return fault{"server: restored from a backup, and repaired",
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
				a, err := open(in.srv.DSN("soak"))
				if err != nil {
					return err
				}
				err = a.Restore(ctx, in.fleet.highest(), in.fleet.lease+maxLead, canonical())
				return errors.Join(err, a.Close())
			}, err
		}}
}
