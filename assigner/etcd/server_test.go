package etcd_test

import (
	"context"
	"os"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
)

const maxWorker = 1<<10 - 1

// servers has one etcd for the tests that do no harm to it. Each of them takes a namespace of its own.
var servers dbtest.Shared

func TestMain(m *testing.M) {
	code := m.Run()
	servers.Close()
	os.Exit(code)
}

// at is the configuration of a client for the etcd at an address.
func at(addr string) clientv3.Config { return clientv3.Config{Endpoints: []string{addr}} }

// open returns an Assigner on the etcd at an address. It is closed twice when the test ends.
func open(tb testing.TB, addr, namespace string, o lease.Options) *lease.Assigner {
	tb.Helper()
	a, err := etcd.Open(at(addr), &etcd.Options{Namespace: "/" + namespace, Lease: o})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		for range 2 {
			if err := a.Close(); err != nil {
				tb.Error(err)
			}
		}
	})
	return a
}

// assign claims a worker id.
func assign(tb testing.TB, a assigner.Assigner) assigner.Claim {
	tb.Helper()
	c, err := a.Assign(within(tb, 30*time.Second), maxWorker)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// extend makes a claim's window longer by d.
func extend(tb testing.TB, c assigner.Claim, d time.Duration) {
	tb.Helper()
	if _, err := c.Extend(within(tb, 30*time.Second), until(c).Add(d)); err != nil {
		tb.Fatal(err)
	}
}

func from(c assigner.Claim) time.Time  { from, _ := c.Window(); return from }
func until(c assigner.Claim) time.Time { _, until := c.Window(); return until }

// within returns a context that ends after d.
func within(tb testing.TB, d time.Duration) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), d)
	tb.Cleanup(cancel)
	return ctx
}

// do fails the test if one of the steps fails.
func do(tb testing.TB, steps ...func() error) {
	tb.Helper()
	for _, step := range steps {
		if err := step(); err != nil {
			tb.Fatal(err)
		}
	}
}
