package zookeeper_test

import (
	"errors"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
)

func TestExtendAndRelease(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	a := open(t, s.addr, zookeeper.Options{Instance: "one"})
	before := time.Now()
	c := claim(t, a)
	if u := until(c); u.Before(before.Add(10*time.Minute)) || u.After(time.Now().Add(10*time.Minute+time.Second)) {
		t.Errorf("the window ends at %v, want 10 minutes from the Assign", u)
	}
	first := until(c)
	if got, err := c.Extend(t.Context(), first.Add(-time.Minute)); err != nil || !got.Equal(first) {
		t.Errorf("Extend to an earlier end = %v, %v, want %v as before", got, err, first)
	}
	asked := first.Add(time.Minute + time.Nanosecond)
	got, err := c.Extend(t.Context(), asked)
	if err != nil || got.Before(asked) || !got.Equal(until(c)) {
		t.Errorf("Extend(%v) = %v, %v and a window to %v, want that end or later", asked, got, err, until(c))
	}
	if instance, stored, err := a.ReadSlot(t.Context(), 0); err != nil || instance != "one" || stored.Before(got) {
		t.Errorf("the slot holds %q until %v, %v, want one until %v", instance, stored, err, got)
	}
	if _, err := c.Extend(t.Context(), time.UnixMilli(1<<62)); err == nil || !until(c).Equal(got) {
		t.Errorf("Extend to the year 146 million: error %v and a window to %v, want an "+
			"error and %v", err, until(c), got)
	}
	now, err := c.(assigner.Clock).Now(t.Context())
	if d := time.Since(now); err != nil || d.Abs() > 5*time.Second {
		t.Errorf("Now = %v, %v, want ZooKeeper's clock, which is this machine's", now, err)
	}
	if span := c.(assigner.Windowed).Span(); span != 10*time.Minute {
		t.Errorf("Span = %v, want 10 minutes, whatever ZooKeeper's clock shows", span)
	}

	used := time.Now().Truncate(time.Second).Add(time.Second)
	release(t, c, used)
	if _, stored, err := a.ReadSlot(t.Context(), 0); err != nil || !stored.Equal(used) {
		t.Errorf("after Release the slot is reserved until %v, %v, want %v", stored, err, used)
	}
	release(t, c, used.Add(time.Hour))
	if _, stored, err := a.ReadSlot(t.Context(), 0); err != nil || !stored.Equal(used) {
		t.Errorf("after a second Release the slot is reserved until %v, %v, want %v", stored, err, used)
	}
	if _, err := c.Extend(t.Context(), used.Add(time.Hour)); err == nil {
		t.Error("Extend after Release succeeded")
	}
	if n, err := a.Peers(t.Context()); err != nil || n != 0 {
		t.Errorf("%d peers after Release, %v, want none", n, err)
	}
}

// An owner that was paused beyond its window and wakes up finds out at its next write, which is
// fenced off. Leaf's nodes write to their node without looking.
func TestFencing(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	var ledger ledger
	old := claim(t, open(t, s.addr, zookeeper.Options{Instance: "old"}))

	clock := wallClock{shift: time.Hour}
	b := open(t, s.addr, zookeeper.Options{Instance: "new", MaxSkew: zookeeper.AnySkew})
	b.SetClock(clock.now)
	young := claim(t, b)
	wantWorker(t, young, old.Worker())
	if from(young).Before(until(old)) {
		t.Errorf("the new window begins at %v, before %v, where the old one ends", from(young), until(old))
	}
	end := until(old)
	for range 2 {
		if got, err := old.Extend(t.Context(),
			end.Add(time.Minute)); !errors.Is(err, assigner.ErrClaimLost) || !got.Equal(end) {
			t.Errorf("Extend of the old claim = %v, %v, want %v and ErrClaimLost", got, err, end)
		}
	}
	stored := until(young)
	release(t, old, end) // gives nothing back that is not its own any more
	if _, got, err := b.ReadSlot(t.Context(), young.Worker()); err != nil || !got.Equal(stored) {
		t.Errorf("the old owner's Release left the slot reserved until %v, %v, want %v", got, err, stored)
	}
	if _, err := young.Extend(t.Context(), stored.Add(time.Minute)); err != nil {
		t.Errorf("Extend of the new claim: %v", err)
	}
	ledger.add(old, until(old), "old")
	ledger.add(young, until(young), "young")
	ledger.check(t)
}

// A clock that is an hour ahead takes a slot whose owner is alive. Both go on for their own
// windows, and no instant is shared.
func TestTakenTooEarly(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	live := claim(t, open(t, s.addr, zookeeper.Options{Instance: "live"}))
	if _, err := live.Extend(t.Context(), until(live).Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	clock := wallClock{shift: 24 * time.Hour}
	b := open(t, s.addr, zookeeper.Options{Instance: "ahead", MaxSkew: zookeeper.AnySkew})
	b.SetClock(clock.now)
	c := claim(t, b)
	release(t, c, time.Time{}) // nothing was stamped: the window shrinks to where it began, never below

	d := claim(t, open(t, s.addr, zookeeper.Options{Instance: "third", MaxSkew: zookeeper.AnySkew}))
	if d.Worker() == live.Worker() && from(d).Before(until(live)) {
		t.Errorf("worker %d: window from %v, while the first owner's ends at %v", d.Worker(), from(d), until(live))
	}
}

// A restart at once begins after the last tick that was stamped, although a new window otherwise
// reaches a little into the past.
func TestRestartAtOnce(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	a := open(t, s.addr, zookeeper.Options{})
	for range 3 {
		c := claim(t, a)
		wantWorker(t, c, 0)
		used := time.Now().Add(-time.Millisecond).Truncate(time.Millisecond)
		release(t, c, used)
		d := claim(t, a)
		wantWorker(t, d, 0)
		if from(d).Before(used) {
			t.Errorf("the window begins at %v, %v before what was stamped", from(d), used.Sub(from(d)))
		}
		release(t, d, time.Now().Add(-time.Millisecond))
	}
}

// Two copies of one process hold the same claim. Only one of them can go beyond the window that
// they were copied with.
func TestClones(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	c := claim(t, open(t, s.addr, zookeeper.Options{}))
	clone := zookeeper.Clone(c)
	end := until(c)
	if _, err := c.Extend(t.Context(), end.Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if got, err := clone.Extend(t.Context(), end.Add(time.Minute)); !errors.Is(err, assigner.ErrClaimLost) {
		t.Errorf("Extend of the clone = %v, %v, want ErrClaimLost", got, err)
	}
	if !until(clone).Equal(end) {
		t.Errorf("the clone's window ends at %v, want %v", until(clone), end)
	}
}
