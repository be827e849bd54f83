package etcd_test

import (
	"strings"
	"testing"
	"time"

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
				a, err := etcd.Open("etcd://"+s.Addr()+"/"+namespace,
					&etcd.Options{Lease: lease.Options{First: first, Last: last}})
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

// TestPlaceStays: the name of an Assigner, by which a move that broke off is known again, does not
// change with the client's list of endpoints.
func TestPlaceStays(t *testing.T) {
	t.Parallel()
	c := client(t, servers.Etcd(t))
	a, err := etcd.New(c, nil)
	if err != nil {
		t.Fatal(err)
	}
	before := a.String()
	c.SetEndpoints("127.0.0.1:1", "127.0.0.1:2")
	if after := a.String(); after != before || !strings.HasSuffix(after, " under /uidring") {
		t.Errorf("the place is %q, and %q with other endpoints, want one under /uidring", before, after)
	}
}

// TestOpenErrors: a wrong URL or option is an error that says so and does not show the password.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	const password = dbtest.Password
	for _, tt := range []struct{ url, namespace, want string }{
		{"http://host", "", "no URL of etcd"},
		{"etcd://", "", "no URL of etcd"},
		{"etcd://user:" + password + "@", "", "no URL of etcd"},
		{"etcd://user:" + password + "%@host", "", "no URL of etcd"},
		{"etcd://user:" + password + "@host:1:2", "", "no URL of etcd"},
		{"etcd://user@host", "", "no URL of etcd"},
		{"etcd://host?password=" + password, "", "no URL of etcd"},
		{"etcd://host/a?tls=1", "", "wants true or false"},
		{"etcd://host/a?cert=x", "", "want both"},
		{"etcd://host/a?ca=/nowhere", "", "/nowhere"},
		{"etcd://host/a?cert=/nowhere&key=/x", "", "/nowhere"},
		{"etcd://host/a//b", "", `Namespace is "/a//b", want a path such as /uidring`},
		{"etcd://host", "a", `Namespace is "a", want a path such as /uidring`},
	} {
		_, err := etcd.Open(tt.url, &etcd.Options{Namespace: tt.namespace})
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), password) {
			t.Errorf("Open(%q) = %v, want an error with %q and no password", tt.url, err, tt.want)
		}
	}
	if _, err := etcd.New(nil, nil); err == nil {
		t.Error("New(nil) succeeded")
	}
	a, err := etcd.Open("etcd://user:"+password+"@127.0.0.1:1", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	_, err = a.Assign(within(t, 300*time.Millisecond), maxWorker)
	if err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") || strings.Contains(err.Error(), password) {
		t.Errorf("Assign with a password and no server = %v, want an error that names the server", err)
	}
}
