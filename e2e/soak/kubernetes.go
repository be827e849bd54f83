package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/e2e/internal/soak"
	"github.com/uidring/uidring/internal/dbtest"
)

// newCluster returns an API server of Kubernetes, which keeps its objects in an etcd.
func newCluster() *authority {
	var s *dbtest.APIServer // set by start
	address := func(addr string) (string, error) {
		path, err := s.WriteKubeconfig(addr)
		return kubernetes.Scheme + "soak?kubeconfig=" + path, err
	}
	// The proxy cannot look into TLS, so faults of some requests are left out.
	network := slices.DeleteFunc(unreliable("until_ms"), func(f fault) bool {
		return f.name == "network: answers to changes of leases lost" ||
			f.name == "network: changes of leases arrive late"
	})
	return &authority{
		kinds: etcdCluster.kinds,
		faults: slices.Concat(network, outages(), []fault{
			{"etcd: SIGKILL and restart", func(*injector, time.Duration) (func() error, error) {
				return s.Etcd.Start, s.Etcd.Kill()
			}},
			{"etcd: SIGSTOP", func(*injector, time.Duration) (func() error, error) {
				return s.Etcd.Resume, s.Etcd.Pause()
			}},
			{"etcd: restored from a backup, and repaired",
				func(in *injector, _ time.Duration) (func() error, error) {
					restore, err := s.Etcd.Backup()
					return func() error {
						in.proxy.Set(dbtest.Refuse)
						defer in.proxy.Set(dbtest.None)
						// The API server caches the state before the restore.
						err := errors.Join(restore(), s.Kill(), s.Start())
						if err != nil {
							return err
						}
						ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
						defer cancel()
						text, err := address(s.Addr())
						if err != nil {
							return err
						}
						a, err := kubernetes.Open(text, nil)
						if err != nil {
							return err
						}
						return a.Restore(ctx, in.fleet.highest(), in.fleet.lease+maxLead,
							canonical())
					}, err
				}},
		}),
		start: func() (srv *dbtest.Server, err error) {
			if s, err = dbtest.NewKubernetes(); err != nil {
				return nil, err
			}
			return s.Server, nil
		},
		dsn: func(_ *dbtest.Server, addr string) string {
			text, err := address(addr)
			if err != nil {
				panic(err) // a temporary folder that cannot be written
			}
			return text
		},
	}
}
