package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/etcd"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
)

// startCluster starts an etcd of three members.
func startCluster(t *testing.T) (members [3]*dbtest.Server) {
	t.Helper()
	var urls, all [3]string
	for i := range urls {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close() // etcd listens there
		urls[i] = "http://" + l.Addr().String()
		all[i] = fmt.Sprintf("m%d=%s", i, urls[i])
	}
	var wg sync.WaitGroup
	var errs [3]error
	for i := range members {
		wg.Go(func() { // none is ready before another one is there
			members[i], errs[i] = dbtest.NewEtcd(fmt.Sprint("--name=m", i), "--listen-peer-urls="+urls[i],
				"--initial-advertise-peer-urls="+urls[i], "--initial-cluster="+strings.Join(all[:], ","))
			if errs[i] == nil {
				t.Cleanup(members[i].Close)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return members
}

// TestMinority: a member that missed a claim, and has no quorum any more, answers nothing. Processes
// that ask only that member get no worker id and no longer window from what it had stored.
func TestMinority(t *testing.T) {
	t.Parallel()
	servers.Etcd(t) // skips the test where there is no etcd
	m := startCluster(t)
	stale := open(t, m[0].Addr(), "a", lease.Options{Window: time.Second})
	old := assign(t, stale)
	do(t, m[0].Pause)
	time.Sleep(time.Until(until(old)))
	c := assign(t, open(t, m[1].Addr(), "a", lease.Options{}))
	if c.Worker() != old.Worker() || from(c).Before(until(old)) {
		t.Fatalf("worker %d from %v, want %d from %v or later", c.Worker(), from(c), old.Worker(), until(old))
	}
	do(t, m[1].Kill, m[2].Kill, m[0].Resume)

	reads := etcd.NewStore(client(t, m[0]), "/a")
	for range 3 {
		if e, err := reads.Get(within(t, time.Second), "slot-0"); err == nil {
			t.Errorf("Get = %s, want to wait", e.Value)
		}
		if all, err := reads.List(within(t, time.Second)); err == nil {
			t.Errorf("List = %d entries, want to wait", len(all))
		}
		end := until(old)
		_, err := old.Extend(within(t, time.Second), end.Add(time.Hour))
		if err == nil || errors.Is(err, assigner.ErrClaimLost) || !until(old).Equal(end) {
			t.Errorf("Extend = %v, and the window ends at %v, want an error and %v", err, until(old), end)
		}
		if c, err := stale.Assign(within(t, time.Second), maxWorker); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Assign = %v, %v, want to wait", c, err)
		}
	}

	var wg sync.WaitGroup
	for _, s := range m[1:] {
		wg.Go(func() {
			if err := s.Start(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if d := assign(t, stale); d.Worker() == c.Worker() {
		t.Errorf("both have worker %d", c.Worker())
	}
	_, err := old.Extend(within(t, 30*time.Second), until(old).Add(time.Hour))
	if !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend with a quorum = %v, want ErrClaimLost", err)
	}
}
