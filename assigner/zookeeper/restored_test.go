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
	"github.com/uidring/uidring/internal/dbtest"
)

// TestRestored: ZooKeeper is restored to an older state while instances run. Each ends its claim:
// one whose slot is in the backup, one whose slot somebody has taken since, and one whose slot is
// not there. It begins the next one after all windows that may be forgotten. A slot that is in the
// backup gets the end of its window back.
func TestRestored(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	const window = 5 * time.Second
	start := func(instance string) *zookeeper.Assigner {
		return open(t, s.addr, zookeeper.Options{Root: "/r",
			Instance: instance, SessionTimeout: time.Second, Window: window, MaxAhead: time.Hour})
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

	end := until(kept)
	lose := func(name string, c assigner.Claim) {
		t.Helper()
		var err error
		for ctx := within(t, time.Minute); ctx.Err() == nil; time.Sleep(20 * time.Millisecond) {
			if _, err = c.Extend(ctx, until(c).Add(window)); !errors.Is(err, zookeeper.ErrUnavailable) {
				break
			}
		}
		if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("%s: Extend = %v, want ErrClaimLost and ErrWentBack", name, err)
		}
	}
	lose("kept", kept)
	if _, stored, err := start("reader").ReadSlot(t.Context(), kept.Worker()); err != nil ||
		!stored.Equal(end) {
		t.Errorf("the kept slot is reserved until %v, %v, want %v", stored, err, end)
	}
	// The stranger makes the slot's version what it was before the restore.
	d := open(t, s.addr, zookeeper.Options{Root: "/r", Instance: "b", MaxSkew: zookeeper.AnySkew})
	d.SetClock((&wallClock{shift: 2 * window}).now)
	wantWorker(t, claim(t, d), taken.Worker())
	for name, lost := range map[string]struct {
		a *zookeeper.Assigner
		c assigner.Claim
	}{"kept": {a, kept}, "taken": {b, taken}, "gone": {c, gone}} {
		end := until(lost.c)
		lose(name, lost.c)
		ledger.add(lost.c, end, name)
		var next assigner.Claim
		persist(t, func(ctx context.Context) (err error) { next, err = lost.a.Assign(ctx, maxWorker); return err })
		if from(next).Before(end) || from(next).Before(time.Now().Add(window-2*time.Second)) {
			t.Errorf("%s: the next window begins at %v, want a window from now and not before %v",
				name, from(next), end)
		}
		ledger.add(next, until(next), name+" again")
	}
	ledger.check(t)
}

// TestRestoredOwnState: an instance that finds its slot as it was earlier puts the end of its window
// back and loses the claim, whatever its clock says. Another may have had the slot from that end on,
// and ZooKeeper has forgotten that.
func TestRestoredOwnState(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	for name, shift := range map[string]time.Duration{"right": 0, "ahead": 24 * time.Hour, "behind": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := new(wallClock)
			a := open(t, s.addr, zookeeper.Options{Instance: "one"})
			a.SetClock(clock.now)
			c := claim(t, a)
			goBack := keepSlot(t, a)
			extend(t, c, until(c).Add(time.Minute))
			end := until(c)

			// Another instance has the slot when the window has passed, and then it is forgotten.
			later := &wallClock{shift: time.Hour}
			b := open(t, s.addr, zookeeper.Options{Instance: "two", MaxSkew: zookeeper.AnySkew})
			b.SetClock(later.now)
			var ledger ledger
			other := claim(t, b)
			wantWorker(t, other, 0)
			ledger.add(other, until(other), "two")
			goBack()
			clock.step(shift)
			for range 2 {
				_, err := c.Extend(within(t, 10*time.Second), end.Add(2*time.Hour))
				if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) {
					t.Errorf("Extend of a slot that went back = %v, want ErrClaimLost and ErrWentBack", err)
				}
			}
			ledger.add(c, until(c), "one")
			ledger.check(t)
			if _, stored, err := a.ReadSlot(t.Context(), 0); err != nil || !stored.Equal(end) {
				t.Errorf("the slot is reserved until %v, %v, want %v", stored, err, end)
			}
		})
	}
}

// TestRestoredAnswerLost: the write that puts a window's end back is lost, or its answer is. The claim
// is lost all the same, and the end is there.
func TestRestoredAnswerLost(t *testing.T) {
	t.Parallel()
	s := zoo.get(t)
	for _, fault := range []dbtest.Fault{dbtest.CutBeforeRequest, dbtest.CutAfterRequest, dbtest.CutBeforeReply} {
		p := dbtest.NewProxy(t, s.addr)
		a := open(t, p.Addr(), zookeeper.Options{Root: fmt.Sprintf("%s/%d", root(t), fault), Instance: "one"})
		c := claim(t, a)
		goBack := keepSlot(t, a)
		extend(t, c, until(c).Add(time.Minute))
		end := until(c)
		goBack()
		p.SetOnce(fault, request(opSet, "/slots/w-"))
		var err error
		for ctx := within(t, 20*time.Second); ctx.Err() == nil; {
			_, err = c.Extend(ctx, end.Add(time.Minute))
			if !errors.Is(err, zookeeper.ErrUnavailable) {
				break
			}
		}
		if !errors.Is(err, assigner.ErrClaimLost) || !errors.Is(err, assigner.ErrWentBack) || p.Hits() != 1 {
			t.Errorf("fault %d, which struck %d times: Extend = %v, want ErrClaimLost and ErrWentBack",
				fault, p.Hits(), err)
		}
		_, stored, err := a.ReadSlot(t.Context(), 0)
		for ctx := within(t, 20*time.Second); errors.Is(err, zookeeper.ErrUnavailable) && ctx.Err() == nil; {
			_, stored, err = a.ReadSlot(t.Context(), 0) // the connection was cut
		}
		if err != nil || !stored.Equal(end) {
			t.Errorf("fault %d: the slot is reserved until %v, %v, want %v", fault, stored, err, end)
		}
	}
}

// keepSlot keeps slot 0. goBack puts it back as it was then.
func keepSlot(t *testing.T, a *zookeeper.Assigner) (goBack func()) {
	t.Helper()
	before, err := a.RawSlot(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		for _, err := range []error{
			a.DeleteSlot(t.Context(), 0), a.PutSlot(t.Context(), "w-0000000000", before),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
