package zookeeper_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner/zookeeper"
)

// Leaf: a start fails when the time that the instance's own node holds lies beyond the clock.
func TestClockBehindOwnRecord(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	start := func(instance string, shift time.Duration, borrow bool) (*zookeeper.Assigner, *wallClock) {
		a := open(t, s.addr, zookeeper.Options{Instance: instance, Borrow: borrow, MaxSkew: zookeeper.AnySkew})
		clock := &wallClock{shift: shift}
		a.SetClock(clock.now)
		return a, clock
	}
	a, _ := start("web-1", 0, false)
	c := claim(t, a)
	wantWorker(t, c, 0)
	used := time.Now().Truncate(time.Second).Add(time.Second)
	release(t, c, used)

	behind, _ := start("web-1", -2*time.Hour, false)
	if _, err := behind.Assign(t.Context(), maxWorker); !errors.Is(err, zookeeper.ErrClock) ||
		!strings.Contains(err.Error(), "MaxAhead is 1m0s") {
		t.Errorf("clock two hours behind: error %v, want ErrClock with the bound", err)
	}
	other, _ := start("web-2", -2*time.Hour, false)
	// Another instance has no past to contradict; slot 0's window has not passed by its clock.
	wantWorker(t, claim(t, other), 1)
	within, _ := start("web-1", -50*time.Second, false)
	// Behind by less than the bound: no borrowing, but a slot whose window has passed.
	wantWorker(t, claim(t, within), 1)

	borrower, _ := start("web-1", -2*time.Hour, true)
	b := claim(t, borrower)
	if from(b).Before(used) {
		t.Errorf("the borrowing start's window begins at %v, before %v, the end of what was stamped", from(b), used)
	}
	if length := until(b).Sub(from(b)); length < 10*time.Minute {
		t.Errorf("the borrowed window is %v long, want 10 minutes", length)
	}
}

// Leaf's article, not its code: a new node's clock may not be away from the average of the others'.
// In Leaf's code the failed check is swallowed by the fallback to the local file; here a cache file
// that would do does not hide it.
func TestClockAwayFromPeers(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	for _, instance := range []string{"a", "b", "c"} {
		claim(t, open(t, s.addr, zookeeper.Options{Instance: instance}))
	}
	for _, tt := range []struct {
		shift time.Duration
		want  string // part of the message; empty: accepted
	}{
		{0, ""},
		{-8 * time.Second, ""}, // within the bound; the average moves by 2 s for each that is accepted
		{8 * time.Second, ""},
		{time.Minute, "ahead of the average of"},
		{-time.Minute, "behind the average of"},
		{100 * 365 * 24 * time.Hour, "ahead of the average of"},
	} {
		a := open(t, s.addr, zookeeper.Options{Instance: "new", SessionTimeout: 3 * time.Second,
			MaxAhead:  24 * time.Hour,
			CacheFile: t.TempDir() + "/cache"})
		release(t, claim(t, a), time.Time{}) // leaves a cache file that proves a window
		a.SetClock((&wallClock{shift: tt.shift}).now)
		c, err := a.Assign(t.Context(), maxWorker)
		if tt.want == "" {
			if err != nil {
				t.Errorf("clock off by %v: %v", tt.shift, err)
			}
			continue
		}
		if !errors.Is(err, zookeeper.ErrClock) || !strings.Contains(err.Error(), tt.want) ||
			!strings.Contains(err.Error(), "MaxSkew is 10s") {
			t.Errorf("clock off by %v: %v, %v, want ErrClock with %q and the bound", tt.shift, c, err, tt.want)
		}
	}
	// An instance that was refused leaves nothing behind that others would compare with.
	a := open(t, s.addr, zookeeper.Options{Instance: "late"})
	if n, err := a.Peers(t.Context()); err != nil || n != 6 {
		t.Errorf("%d peers, %v, want the 6 that were accepted", n, err)
	}
}

// TestServerClockSteps: ZooKeeper's clock steps, or another server with another clock becomes the
// leader. To the instances that is as if all of their clocks had stepped the other way together.
// Starts with a right clock go on, and those with a wrong one are still refused.
func TestServerClockSteps(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	clock := new(wallClock) // of every instance, as ZooKeeper sees it
	start := func(instance string, now func() time.Time) error {
		a := open(t, s.addr, zookeeper.Options{Instance: instance})
		a.SetClock(now)
		_, err := a.Assign(within(t, time.Minute), maxWorker)
		return err
	}
	for _, instance := range []string{"a", "b", "c"} {
		if err := start(instance, clock.now); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []time.Duration{time.Hour, -2 * time.Hour, 100 * time.Hour} {
		clock.step(step)
		if err := start(fmt.Sprint("new after ", step), clock.now); err != nil {
			t.Errorf("ZooKeeper's clock stepped by %v: %v", -step, err)
		}
		wrong := func() time.Time { return clock.now().Add(-time.Minute) }
		if err := start("wrong", wrong); !errors.Is(err, zookeeper.ErrClock) {
			t.Errorf("a clock that is behind, after a step of %v: error %v, want ErrClock", -step, err)
		}
	}
}
