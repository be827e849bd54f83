package zookeeper_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/dbtest"
	"github.com/uidring/uidring/internal/winlog"
)

// TestRestored: ZooKeeper is restored to an older state while processes run, whose sessions it refuses
// from then on. Each comes back by itself and ends its claim: one whose slot is in the backup, one
// whose slot another process has taken since, and one whose slot is not there. It begins the next one
// after all windows that may be forgotten.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := dbtest.ZooKeeper(t)
	const window = time.Hour
	start := func(o lease.Options) *lease.Assigner {
		return newAssigner(t, openStore(t, s.Addr(), "a"), o)
	}
	// Worker 1 was given back, and its slot is free in the backup.
	long := lease.Options{Window: window}
	a, b, c := start(long), start(long), start(long)
	kept := assign(t, a)
	free := assign(t, start(long))
	do(t, func() error { return free.Release(t.Context(), time.Now().Add(-time.Minute)) })
	restore, err := s.Backup()
	do(t, func() error { return err })
	extend(t, kept, window)
	taken, gone := assign(t, b), assign(t, c)
	if taken.Worker() != 1 || gone.Worker() != 2 {
		t.Fatalf("worker ids %d and %d, want 1 and 2", taken.Worker(), gone.Worker())
	}
	for range 20 { // the servers refuse the sessions that have seen this
		extend(t, kept, time.Second)
	}
	do(t, restore)
	// The stranger makes the slot's version what it was before the restore.
	stranger := assign(t, start(lease.Options{}))
	if stranger.Worker() != taken.Worker() {
		t.Fatalf("the stranger has worker %d, want the forgotten %d", stranger.Worker(), taken.Worker())
	}

	var log winlog.Log
	n := int64(0)
	for name, of := range map[string]struct {
		a *lease.Assigner
		c assigner.Claim
	}{"kept": {a, kept}, "taken": {b, taken}, "gone": {c, gone}} {
		end := until(of.c)
		err := persist(within(t, time.Minute), func(ctx context.Context) error {
			_, err := of.c.Extend(ctx, end.Add(window))
			return err
		})()
		if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("%s: Extend = %v, want ErrClaimLost and ErrWentBack", name, err)
		}
		if name == "kept" {
			if got := slot(t, a, kept.Worker()); got.Until.Before(end) || got.Owner != "" {
				t.Errorf("the kept slot is %+v, want no owner and %v or later", got, end)
			}
		}
		next := assign(t, of.a)
		if from(next).Before(end) || from(next).Before(time.Now().Add(window-time.Minute)) {
			t.Errorf("%s: the next window begins at %v, want a Window from now and not before %v",
				name, from(next), end)
		}
		if name != "taken" { // the stranger may have stamped in that window
			n++
			log.Put(logged(n, of.c))
		}
		n++
		log.Put(logged(n, next))
	}
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestRestoredOwnState: a process that finds its slot as it was earlier puts the end of its window
// back and loses the claim. Another process may have had the slot from that end on, and ZooKeeper
// has forgotten that. The write that puts the end back is lost, or its answer is.
func TestRestoredOwnState(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	for _, fault := range []dbtest.Fault{dbtest.None, dbtest.CutBeforeRequest, dbtest.CutAfterRequest,
		dbtest.CutBeforeReply} {
		p := dbtest.NewProxy(t, s.Addr())
		n := s.Prefix()
		a := newAssigner(t, openStore(t, p.Addr(), n), lease.Options{Window: time.Second})
		c := assign(t, a)
		goBack := keepSlot(t, s, n)
		extend(t, c, time.Second)
		end := until(c)
		time.Sleep(time.Until(end))
		another := assign(t, newAssigner(t, openStore(t, s.Addr(), n), lease.Options{}))
		if another.Worker() != c.Worker() {
			t.Fatalf("worker %d, want %d", another.Worker(), c.Worker())
		}
		goBack()
		p.SetOnce(fault, request(opSet, "/slot-0"))
		for range 2 {
			err := persist(within(t, time.Minute), func(ctx context.Context) error {
				_, err := c.Extend(ctx, end.Add(2*time.Hour))
				return err
			})()
			if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) {
				t.Errorf("fault %d: Extend of a slot that went back = %v, want ErrClaimLost and ErrWentBack",
					fault, err)
			}
		}
		if got := slot(t, newAssigner(t, openStore(t, s.Addr(), n), lease.Options{}), 0); got.Until.Before(end) {
			t.Errorf("fault %d: the slot is reserved until %v, want %v or later", fault, got.Until, end)
		}
		if !until(c).Equal(end) || fault != dbtest.None && p.Hits() != 1 {
			t.Errorf("fault %d, which struck %d times: the window ends at %v, want %v", fault, p.Hits(), until(c), end)
		}
	}
}

// keepSlot keeps slot 0 of a namespace. goBack puts it back as it was then.
func keepSlot(t *testing.T, s *dbtest.Server, namespace string) (goBack func()) {
	t.Helper()
	c, path := raw(t, s.Addr()), "/"+namespace+"/slot-0"
	before, _, err := c.Get(path)
	if err != nil {
		t.Fatal(err)
	}
	acl, _, err := c.GetACL(path)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		do(t, func() error { return c.Delete(path, -1) }, func() error {
			_, err := c.Create(path, before, 0, acl)
			return err
		})
	}
}

// TestRestore: after Restore, no worker id that the backup has forgotten is given out, and no window
// begins within the reach.
func TestRestore(t *testing.T) {
	t.Parallel()
	s := dbtest.ZooKeeper(t)
	const layout, reach = "28-22-13-0/1s@2026-01-01T00:00:00Z", time.Hour
	assign(t, open(t, s.Addr(), "a", lease.Options{}).BindLayout(layout))
	restore, err := s.Backup()
	do(t, func() error { return err })
	var forgotten []assigner.Claim
	for range 3 {
		forgotten = append(forgotten, assign(t, open(t, s.Addr(), "a", lease.Options{}).BindLayout(layout)))
	}
	do(t, restore)
	a := open(t, s.Addr(), "a", lease.Options{})
	begin := time.Now()
	do(t, func() error { return a.Restore(within(t, time.Minute), 3, reach, layout) })
	if got := slot(t, a, 0); got.Left <= 0 || got.Until.Before(begin.Add(reach-time.Minute)) {
		t.Errorf("slot 0 is %+v, want it reserved for %v", got, reach)
	}
	c := assign(t, a.BindLayout(layout))
	if c.Worker() != 4 || from(c).Before(begin.Add(reach-time.Minute)) {
		t.Errorf("worker %d from %v, want 4 from %v", c.Worker(), from(c), begin.Add(reach))
	}
	for _, f := range forgotten {
		err := persist(within(t, time.Minute), func(ctx context.Context) error {
			_, err := f.Extend(ctx, until(f).Add(time.Hour))
			return err
		})()
		if !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend of forgotten worker %d = %v, want ErrWentBack", f.Worker(), err)
		}
	}
}
