package zookeeper_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/zookeeper"
)

// TestRestored: ZooKeeper is restored to an older state while instances run. One whose slot is in
// the backup goes on. One whose slot somebody has taken since, or whose slot is not in the backup,
// ends its claim, and begins the next one after all windows that may be forgotten.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const window = 5 * time.Second
	start := func(instance string) *zookeeper.Assigner {
		return open(t, s.addr, zookeeper.Options{Root: "/r",
			Instance: instance, SessionTimeout: time.Second, Window: window})
	}
	a, b, c := start("a"), start("b"), start("c")
	kept, taken := claim(t, a), claim(t, b)
	var ledger ledger

	backup := t.TempDir()
	s.kill()
	if err := os.CopyFS(backup, os.DirFS(s.DataDir())); err != nil {
		t.Fatal(err)
	}
	s.restart()
	extend(t, kept, until(kept).Add(window))
	extend(t, kept, until(kept).Add(time.Minute)) // longer than a busy machine takes for the restore
	extend(t, taken, until(taken).Add(time.Minute))
	gone := claim(t, c)
	s.kill()
	if err := os.RemoveAll(s.DataDir()); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(s.DataDir(), os.DirFS(backup)); err != nil {
		t.Fatal(err)
	}
	s.restart()

	extend(t, kept, until(kept).Add(window))
	if _, stored, err := start("reader").ReadSlot(t.Context(), kept.Worker()); err != nil ||
		!stored.Equal(until(kept)) {
		t.Errorf("the kept slot is reserved until %v, %v, want %v", stored, err, until(kept))
	}
	// The stranger makes the slot's version what it was before the restore.
	d := open(t, s.addr, zookeeper.Options{Root: "/r", Instance: "b", MaxSkew: zookeeper.AnySkew})
	d.SetClock((&wallClock{shift: 2 * window}).now)
	wantWorker(t, claim(t, d), taken.Worker())
	for name, lost := range map[string]struct {
		a *zookeeper.Assigner
		c assigner.Claim
	}{"taken": {b, taken}, "gone": {c, gone}} {
		end := until(lost.c)
		var err error
		for ctx := within(t, time.Minute); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if _, err = lost.c.Extend(ctx, end.Add(window)); !errors.Is(err, zookeeper.ErrUnavailable) {
				break
			}
		}
		if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, zookeeper.ErrWentBack) {
			t.Errorf("%s: Extend = %v, want ErrClaimLost and ErrWentBack", name, err)
		}
		ledger.add(lost.c, end, name)
		var next assigner.Claim
		persist(t, func(ctx context.Context) (err error) { next, err = lost.a.Assign(ctx, maxWorker); return err })
		if from(next).Before(end) || from(next).Before(time.Now().Add(window-2*time.Second)) {
			t.Errorf("%s: the next window begins at %v, want a window from now and not before %v",
				name, from(next), end)
		}
		ledger.add(next, until(next), name+" again")
	}
	ledger.add(kept, until(kept), "kept")
	ledger.check(t)
}

// TestRestoredTooLate: an instance that finds its slot as it was earlier, when its window has passed,
// has lost it: another may have had the slot meanwhile, and ZooKeeper has forgotten that.
func TestRestoredTooLate(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	for _, late := range []bool{false, true} {
		clock := new(wallClock)
		a := open(t, s.addr, zookeeper.Options{Root: root(t) + fmt.Sprint("/", late), Instance: "one"})
		a.SetClock(clock.now)
		c := claim(t, a)
		before, err := a.RawSlot(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		extend(t, c, until(c).Add(time.Minute))
		if err := a.DeleteSlot(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if err := a.PutSlot(t.Context(), "w-0000000000", before); err != nil {
			t.Fatal(err)
		}
		if late {
			clock.step(time.Hour)
		}
		_, err = c.Extend(within(t, 10*time.Second), until(c).Add(2*time.Hour))
		lost := errors.Is(err, assigner.ErrClaimLost) && errors.Is(err, zookeeper.ErrWentBack)
		if lost != late || !late && err != nil {
			t.Errorf("Extend of a slot that went back, when the window has passed: %v: error %v", late, err)
		}
	}
}
