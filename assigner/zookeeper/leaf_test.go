package zookeeper_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/winlog"
)

// TestConcurrentFirstStarts: processes that start at the same instant on an empty tree have a worker
// id each. In Leaf the node that creates the root takes 0 without reading the number that ZooKeeper
// gave it, and two nodes have 0.
func TestConcurrentFirstStarts(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	const n = 24
	namespace := s.Prefix()
	var log winlog.Log
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for i := range int64(n) {
		a := open(t, s.Addr(), namespace, lease.Options{})
		wg.Go(func() {
			<-begin
			c, err := a.BindLayout("twitter").Assign(within(t, time.Minute), n-1)
			if err != nil {
				t.Errorf("process %d: %v", i, err)
				return
			}
			log.Put(logged(i, c))
		})
	}
	close(begin)
	wg.Wait()
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
	seen := map[int64]int{}
	for _, w := range log.All() {
		seen[w.Worker]++
	}
	if len(seen) != n {
		t.Errorf("worker ids %v, want each of 0 to %d once", seen, n-1)
	}
}

// TestAnyOwner: a process's name is for the operator alone, whatever it looks like, and two processes
// with one name share nothing. Leaf splits the names of nodes at hyphens.
func TestAnyOwner(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	n := s.Prefix()
	names := []string{"web-1:8080", "web-1-8080", "web", "web", "web-", "-web-0000000001", "a/b",
		"10.0.0.1:80", "žluťoučký-kůň", `"{}"`, strings.Repeat("x-", 95)}
	for want, name := range names {
		wantWorker(t, open(t, s.Addr(), n, lease.Options{Owner: name}), int64(want))
	}
	all, err := open(t, s.Addr(), n, lease.Options{}).Slots(t.Context())
	if err != nil || len(all) != len(names) {
		t.Fatalf("Slots = %v, %v, want %d", all, err, len(names))
	}
	for i, slot := range all {
		if slot.Owner != names[i] {
			t.Errorf("worker %d is owned by %q, want %q", i, slot.Owner, names[i])
		}
	}
}

// TestRecycling: worker ids are reused when their windows have passed, and the window of the new owner
// begins where the old one ended or later. The numbers stay below the limit however often processes
// come and go. Leaf never gives a worker id to another node.
func TestRecycling(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	const window, last = time.Second, 2
	store := &shifted{Store: openStore(t, s.Addr(), s.Prefix())}
	start := func() (assigner.Claim, error) {
		return newAssigner(t, store, lease.Options{Window: window}).Assign(within(t, time.Minute), last)
	}
	var log winlog.Log
	n := int64(0)
	for round := range 6 {
		var claims []assigner.Claim
		for i := range last + 1 {
			c, err := start()
			if err != nil {
				t.Fatalf("round %d, process %d: %v", round, i, err)
			}
			extend(t, c, 5*time.Second)
			claims = append(claims, c)
			n++
			log.Put(logged(n, c))
		}
		_, err := start()
		if !errors.Is(err, assigner.ErrWorkersExhausted) ||
			!strings.Contains(err.Error(), "all of the worker ids 0 to 2 are reserved") {
			t.Fatalf("round %d: a fourth claim of three: %v, want ErrWorkersExhausted", round, err)
		}
		if round%2 == 0 { // else the processes crash
			for i, c := range claims {
				used := until(c).Add(-time.Second)
				do(t, func() error { return c.Release(t.Context(), used) })
				w := logged(n-last+int64(i), c)
				w.Until = used
				log.Put(w)
			}
		}
		store.step(8 * time.Second) // all windows have passed by ZooKeeper's clock
	}
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestFencing: an owner that was paused beyond its window learns at its next write that another one
// has its worker id. It keeps its window, and gives nothing back that is not its own. Leaf's nodes
// write to their node without a check.
func TestFencing(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	n := s.Prefix()
	old := assign(t, open(t, s.Addr(), n, lease.Options{Window: time.Second}))
	end := until(old)
	time.Sleep(time.Until(end))
	a := open(t, s.Addr(), n, lease.Options{})
	young := wantWorker(t, a, old.Worker())
	if from(young).Before(end) {
		t.Errorf("the new window begins at %v, before %v, where the old one ends", from(young), end)
	}
	for range 2 {
		_, err := old.Extend(t.Context(), end.Add(time.Minute))
		if !errors.Is(err, assigner.ErrClaimLost) || errors.Is(err, assigner.ErrWentBack) || !until(old).Equal(end) {
			t.Errorf("Extend of the old claim = %v, and its window ends at %v, want ErrClaimLost and %v",
				err, until(old), end)
		}
	}
	do(t, func() error { return old.Release(t.Context(), end) })
	if got := slot(t, a, young.Worker()); !got.Until.Equal(until(young)) || got.Owner == "" {
		t.Errorf("the old owner's Release left %+v, want the new owner until %v", got, until(young))
	}
	extend(t, young, time.Minute)
}

// TestTakenTooEarly: a ZooKeeper whose clock is ahead gives a worker id away whose owner runs. Both
// owners go on for their own windows, and the third one's begins after both.
func TestTakenTooEarly(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	n := s.Prefix()
	store := &shifted{Store: openStore(t, s.Addr(), n)}
	var log winlog.Log
	o := lease.Options{Window: 10 * time.Second}
	live := assign(t, newAssigner(t, store, o))
	extend(t, live, time.Second)
	log.Put(logged(1, live))
	store.step(30 * time.Second)
	ahead := assign(t, newAssigner(t, store, o))
	if ahead.Worker() != live.Worker() || from(ahead).Before(until(live)) {
		t.Errorf("worker %d from %v, want %d from %v", ahead.Worker(), from(ahead), live.Worker(), until(live))
	}
	do(t, func() error { return ahead.Release(t.Context(), time.Time{}) }) // nothing was stamped
	third := assign(t, newAssigner(t, store, o))
	log.Put(logged(2, third))
	if err := log.Overlap(); err != nil || third.Worker() != live.Worker() {
		t.Errorf("worker %d, want %d: %v", third.Worker(), live.Worker(), err)
	}
}

// TestRestartAtOnce: a window begins after the last tick that the one before it stamped.
func TestRestartAtOnce(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	a := open(t, s.Addr(), s.Prefix(), lease.Options{})
	for range 3 {
		c := wantWorker(t, a, 0)
		used := time.Now().Add(-time.Millisecond).Truncate(time.Millisecond)
		do(t, func() error { return c.Release(t.Context(), used) })
		d := wantWorker(t, a, 0)
		if from(d).Before(used) {
			t.Errorf("the window begins at %v, %v before what was stamped", from(d), used.Sub(from(d)))
		}
		do(t, func() error { return d.Release(t.Context(), time.Now().Add(-time.Millisecond)) })
	}
}

// TestServerClockSteps: ZooKeeper's clock steps, or another server with another clock becomes the
// leader. Processes start all the same, and their windows do not overlap. With MaxSkew a start is
// refused, because one of two clocks is wrong, and Leaf's check reaches the caller.
func TestServerClockSteps(t *testing.T) {
	t.Parallel()
	s := servers.ZooKeeper(t)
	store := &shifted{Store: openStore(t, s.Addr(), s.Prefix())}
	var log winlog.Log
	put := func(n int) {
		a := newAssigner(t, store, lease.Options{Window: time.Second})
		log.Put(logged(int64(n), assign(t, a)))
	}
	careful := newAssigner(t, store, lease.Options{MaxSkew: 30 * time.Second})
	if _, err := careful.Assign(within(t, time.Minute), maxWorker); err != nil {
		t.Errorf("MaxSkew and right clocks: %v", err)
	}
	for i, step := range []time.Duration{0, time.Hour, -2 * time.Hour, 100 * time.Hour} {
		store.step(step)
		put(2 * i)
		put(2*i + 1)
		if step == 0 {
			continue
		}
		c, err := careful.Assign(within(t, time.Minute), maxWorker)
		if !errors.Is(err, lease.ErrSkew) {
			t.Errorf("a clock that is away, after a step of %v: %v, %v, want an ErrSkew", step, c, err)
		}
		if side := map[bool]string{true: "behind", false: "ahead of"}[step > 0]; !strings.Contains(
			fmt.Sprint(err), side+" the store's") {
			t.Errorf("after a step of %v: %v, want %q", step, err, side)
		}
	}
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
}
