package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/uidring/uidring/assigner/kubernetes"
	"github.com/uidring/uidring/assigner/kubernetes/kubeconfig"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/test/internal/soak"
)

// newCluster returns an API server of Kubernetes, which keeps its objects in an etcd.
func newCluster() *authority {
	var s *dbtest.APIServer // set by start
	address := func(addr string) (string, error) {
		path, err := s.WriteKubeconfig(addr)
		return "kubernetes:soak?kubeconfig=" + path, err
	}
	open := func(in *injector, o lease.Options) (*lease.Assigner, error) {
		text, err := address(in.srv.Addr())
		if err != nil {
			return nil, err
		}
		return kubeconfig.Open(text, &kubernetes.Options{Lease: o})
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
		backup: backUpBy(func(*injector) (func() error, error) {
			restore, err := s.Etcd.Backup()
			// The API server's cache has the state before the restore.
			return func() error { return errors.Join(s.Kill(), restore(), s.Start()) }, err
		}, repairLeases(open)),
		remove: func(_ *injector, workers ...int64) error {
			for _, worker := range workers {
				if err := removeObject(s, worker); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// removeObject deletes the object of a worker id's slot.
func removeObject(s *dbtest.APIServer, worker int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), soak.Comeback)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodDelete, fmt.Sprint("https://", s.Addr(),
		"/apis/coordination.k8s.io/v1/namespaces/default/leases/soak-", "slot-", worker),
		http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+dbtest.Password)
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	response, err := c.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusNotFound {
		return fmt.Errorf("deleting the object of worker %d: %s", worker, response.Status)
	}
	return nil
}
