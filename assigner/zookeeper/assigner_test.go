package zookeeper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/assigner/zookeeper"
	"github.com/uidring/uidring/internal/dbtest"
)

func ExampleOpen() {
	a, err := zookeeper.Open([]string{"zk1:2181", "zk2:2181", "zk3:2181"},
		&zookeeper.Options{Namespace: "/ids/orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer a.Close() // after the generator that uses it
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	claim, err := a.Assign(ctx, 1023)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(claim.Worker())
}

// TestConformance runs the suite.
func TestConformance(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	assignertest.Run(t, assignertest.Factory{
		Authority: func(tb testing.TB) func() assigner.Assigner {
			namespace := s.Prefix()
			return func() assigner.Assigner { return open(tb, s.Addr(), namespace, lease.Options{}) }
		},
		Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
			store := &shifted{Store: openStore(tb, s.Addr(), s.Prefix())}
			return func() assigner.Assigner { return newAssigner(tb, store, lease.Options{}) }, store.step
		},
		Ranges: func(tb testing.TB) func(first, last int64) assigner.Assigner {
			namespace := "/" + s.Prefix()
			return func(first, last int64) assigner.Assigner {
				a, err := zookeeper.Open([]string{s.Addr()}, &zookeeper.Options{Namespace: namespace,
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
	s := servers.ZooKeeper(t)
	n := s.Prefix()
	for _, p := range []string{n, n + "/slot-1", n + "/deeper/still", n + "/slots", n + "/clock/x", n + "x"} {
		wantWorker(t, open(t, s.Addr(), p, lease.Options{}), 0)
	}
	a := open(t, s.Addr(), n, lease.Options{})
	all, err := a.Slots(t.Context())
	if err != nil || len(all) != 1 {
		t.Errorf("Slots = %v, %v, want one", all, err)
	}
	wantWorker(t, a, 2) // the node slot-1 holds no slot, and is left alone
}

// TestListingWritesNothing: a check of a namespace that is not there does not make it.
func TestListingWritesNothing(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	n := s.Prefix()
	if all, err := open(t, s.Addr(), n, lease.Options{}).Slots(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("Slots = %v, %v, want none", all, err)
	}
	if there, _, err := raw(t, s.Addr()).Exists("/" + n); err != nil || there {
		t.Errorf("/%s exists: %v, %v", n, there, err)
	}
}

// TestFirstLayouts: of two first claims with different layouts at the same instant one fails.
func TestFirstLayouts(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	layouts := []string{"41-10-12-0/1ms@2010-11-04T01:42:54.657Z", "28-22-13-0/1s@2026-01-01T00:00:00Z"}
	for range 10 {
		a := open(t, s.Addr(), s.Prefix(), lease.Options{})
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, layout := range layouts {
			wg.Go(func() { _, errs[i] = a.BindLayout(layout).Assign(within(t, time.Minute), maxWorker) })
		}
		wg.Wait()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), assigner.ErrLayoutMismatch) {
			t.Errorf("two first layouts: %v, want one ErrLayoutMismatch", errs)
		}
	}
}

// TestDigest: nodes that were made with a digest refuse every other client, at once and without the
// password. A connection tells ZooKeeper the digest once.
func TestDigest(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	n := s.Prefix()
	p := dbtest.NewProxy(t, s.Addr())
	told := count(p, request(opSetAuth, "ids:"))
	try := func(digest string) error {
		a, err := zookeeper.Open([]string{p.Addr()}, &zookeeper.Options{Namespace: "/" + n + "/ids", Digest: digest})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		_, err = a.Assign(within(t, 30*time.Second), maxWorker)
		return err
	}
	for range 2 {
		if err := try("ids:" + dbtest.Password); err != nil {
			t.Error(err)
		}
	}
	for _, digest := range []string{"", "ids:not-" + dbtest.Password} {
		err := try(digest)
		if !errors.Is(err, lease.ErrRefused) || !strings.Contains(err.Error(), "not authenticated") ||
			strings.Contains(err.Error(), dbtest.Password) {
			t.Errorf("another account: %v, want ZooKeeper's refusal without the password", err)
		}
	}
	if told.Load() != 3 {
		t.Errorf("ZooKeeper was told a digest %d times, want once by each of 3 sessions", told.Load())
	}
}

// TestOptions: a wrong option is an error that says so and does not show the password.
func TestOptions(t *testing.T) {
	t.Parallel()
	const password = dbtest.Password
	for _, tt := range []struct {
		o    zookeeper.Options
		want string
	}{
		{zookeeper.Options{Namespace: "/a//b"}, `Namespace is "/a//b", want a path such as /uidring`},
		{zookeeper.Options{Namespace: "ids"}, `Namespace is "ids"`},
		{zookeeper.Options{Namespace: "/"}, `Namespace is "/"`},
		{zookeeper.Options{Namespace: "/ids/"}, `Namespace is "/ids/"`},
		{zookeeper.Options{Namespace: "/" + strings.Repeat("x", 255)}, "at most 255 bytes"},
		{zookeeper.Options{Digest: password}, "Digest has no colon"},
		{zookeeper.Options{Lease: lease.Options{Window: 1}}, "Window is 1ns"},
	} {
		_, err := zookeeper.Open([]string{"host"}, &tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), password) {
			t.Errorf("Open(%+v) = %v, want an error with %q and no password", tt.o, err, tt.want)
		}
	}
	if _, err := zookeeper.Open(nil, nil); err == nil {
		t.Error("Open without servers succeeded")
	}
}

// TestSilent: the client library logs to the standard logger by default. Ours does not.
func TestSilent(t *testing.T) {
	var out bytes.Buffer
	defer log.SetOutput(log.Default().Writer()) // evaluated here
	log.SetOutput(&out)
	a := open(t, "127.0.0.1:1", "x", lease.Options{}) // nobody listens there
	if _, err := a.Assign(within(t, 200*time.Millisecond), maxWorker); err == nil {
		t.Error("Assign without a server succeeded")
	}
	a.Close()
	if out.Len() > 0 {
		t.Errorf("logged %q, want nothing", out.String())
	}
}

// TestTime: claims tell ZooKeeper's time. Their windows are those of the other authorities.
func TestTime(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	c := assign(t, open(t, s.Addr(), s.Prefix(), lease.Options{}))
	now, err := c.(assigner.Clock).Now(t.Context())
	if d := time.Since(now); err != nil || d.Abs() > 10*time.Second {
		t.Errorf("Now = %v, %v, want ZooKeeper's clock, which is this machine's", now, err)
	}
	if d := until(c).Sub(now); d > 20*time.Minute || d < 19*time.Minute {
		t.Errorf("the window ends %v from now, want %v", d, 20*time.Minute)
	}
}

// TestThousandCloses: of a thousand processes that close at once, each gives its worker id back. They
// share namespaces by 25, because each start reads all slots of its own.
func TestThousandCloses(t *testing.T) {
	t.Parallel()
	s := dbtest.ZooKeeper(t)
	const namespaces, each = 40, 25
	claims := make([]assigner.Claim, namespaces*each)
	var wg sync.WaitGroup
	for i := range namespaces {
		wg.Go(func() {
			for j := range each {
				claims[i*each+j] = assign(t, open(t, s.Addr(), fmt.Sprint("ids", i), lease.Options{}))
			}
		})
	}
	wg.Wait()
	for _, c := range claims {
		wg.Go(func() {
			if err := c.Release(within(t, 30*time.Second), time.Time{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for i := range namespaces {
		all, err := open(t, s.Addr(), fmt.Sprint("ids", i), lease.Options{}).Slots(t.Context())
		if err != nil || len(all) != each {
			t.Errorf("namespace %d: %d slots, %v, want %d", i, len(all), err, each)
		}
		for _, slot := range all {
			if slot.Owner != "" || slot.Left > 0 {
				t.Errorf("namespace %d: %+v, want it given back", i, slot)
			}
		}
	}
}
