package etcd_test

import (
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
)

// TestConformance runs the suite. Package slots runs its checks of clocks.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := servers.Etcd(t)
	assignertest.Run(t, assignertest.Factory{
		Authority: func(tb testing.TB) func() assigner.Assigner {
			namespace := s.Prefix()
			return func() assigner.Assigner { return open(tb, s.Addr(), namespace, lease.Options{}) }
		},
		Ranges: func(tb testing.TB) func(first, last int64) assigner.Assigner {
			namespace := s.Prefix()
			return func(first, last int64) assigner.Assigner {
				a, err := etcd.Open(at(s.Addr()), &etcd.Options{Namespace: "/" + namespace,
					Lease: lease.Options{First: first, Last: last}})
				if err != nil {
					return assignertest.Refused(err)
				}
				tb.Cleanup(func() { a.Close() })
				return a
			}
		},
	})
}

// TestNamespaces: the worker ids of two namespaces are independent, also where one lies inside the
// other.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	s := servers.Etcd(t)
	namespace := s.Prefix()
	for _, p := range []string{namespace, namespace + "/slot-1", namespace + "/deeper", namespace + "x"} {
		a := open(t, s.Addr(), p, lease.Options{})
		if c := assign(t, a); c.Worker() != 0 {
			t.Errorf("first worker id under %s = %d, want 0", p, c.Worker())
		}
	}
	a := open(t, s.Addr(), namespace, lease.Options{})
	all, err := a.Slots(t.Context())
	if err != nil || len(all) != 1 {
		t.Errorf("Slots = %v, %v, want one", all, err)
	}
}

// TestClose: after Close an Assigner of Open reaches etcd no more, and a client that New got works on.
func TestClose(t *testing.T) {
	t.Parallel()
	s := servers.Etcd(t)
	c := client(t, s)
	given, err := etcd.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	own := open(t, s.Addr(), s.Prefix(), lease.Options{})
	assign(t, own)
	do(t, given.Close, own.Close)
	if _, err := c.Get(within(t, 30*time.Second), "x"); err != nil {
		t.Errorf("Get by the caller's client after Close: %v", err)
	}
	if c, err := own.Assign(within(t, 300*time.Millisecond), maxWorker); err == nil {
		t.Errorf("Assign after Close = worker %d, want an error", c.Worker())
	}
}

// TestPlaceStays: the name of an Assigner, by which a move that broke off is known again, has the
// client's endpoints, and does not change with the list of them.
func TestPlaceStays(t *testing.T) {
	t.Parallel()
	s := servers.Etcd(t)
	c := client(t, s)
	a, err := etcd.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := a.String()
	c.SetEndpoints("127.0.0.1:1", "127.0.0.1:2")
	want := "etcd at " + s.Addr() + " under /uidring"
	if after := a.String(); before != want || after != want {
		t.Errorf("the place is %q, and %q with other endpoints, want %q", before, after, want)
	}
}

// TestOpenErrors: a wrong configuration or option is an error that says so, and an etcd that is away one
// that names it and does not show the password.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	const password = dbtest.Password
	for _, tt := range []struct {
		c         clientv3.Config
		namespace string
		want      string
	}{
		{clientv3.Config{}, "", "etcd: connecting to"},
		{at("host"), "/a//b", `Namespace is "/a//b", want a path such as /uidring`},
		{at("host"), "a", `Namespace is "a", want a path such as /uidring`},
	} {
		_, err := etcd.Open(tt.c, &etcd.Options{Namespace: tt.namespace})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Open of %q in %q = %v, want an error with %q", tt.c.Endpoints, tt.namespace, err, tt.want)
		}
	}
	if _, err := etcd.New(nil, nil); err == nil {
		t.Error("New(nil) succeeded")
	}
	c := at("127.0.0.1:1")
	c.Username, c.Password = "user", password
	a, err := etcd.Open(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, err = a.Assign(within(t, 300*time.Millisecond), maxWorker)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), password) {
		t.Errorf("Assign with a password and no server = %v, want an error that names the server", err)
	}
}
