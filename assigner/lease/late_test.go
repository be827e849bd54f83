package lease_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/winlog"
)

// TestWakesLate: an owner wakes up after its window, when another process has taken the worker id over
// and the store has forgotten both, by a backup or because an operator deleted the slot. What it
// writes and claims then makes no room for a third owner inside the other one's window.
func TestWakesLate(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		for _, window := range []time.Duration{20 * time.Minute, 6 * time.Hour} {
			for _, tells := range []bool{false, true} {
				t.Run(fmt.Sprintf("deleted %v, next to %v, told %v", deleted, window, tells), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) { wakeLate(t, deleted, window, tells) })
				})
			}
		}
	}
}

func wakeLate(t *testing.T, deleted bool, window time.Duration, tells bool) {
	m := &memory{}
	var s lease.Store = m
	if tells {
		s = told{m, &clock{}}
	}
	var log winlog.Log
	claims := int64(0)
	put := func(c assigner.Claim) {
		claims++
		log.Put(winlog.Window{Claim: claims, Worker: c.Worker(), From: from(c), Until: until(c)})
	}
	assign(t, newAssigner(t, s, nil)) // makes the header
	restore := m.backup()
	x := newAssigner(t, s, nil)
	first := assign(t, x)
	put(first)
	time.Sleep(30 * time.Minute)
	y := newAssigner(t, s, &lease.Options{Window: window, First: first.Worker()})
	second := assign(t, y)
	if second.Worker() != first.Worker() {
		t.Fatalf("the second owner has worker %d, want %d", second.Worker(), first.Worker())
	}
	put(second)
	if deleted {
		remove(m, lease.SlotPrefix+fmt.Sprint(first.Worker()))
	} else {
		restore()
		if err := newAssigner(t, s, nil).Restore(t.Context(), 5, window, ""); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := first.Extend(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
		t.Errorf("Extend of the first owner = %v, want ErrWentBack", err)
	}
	for range 3 {
		put(assign(t, newAssigner(t, s, nil)))
		put(assign(t, x))
		time.Sleep(25 * time.Minute)
	}
	if err := log.Overlap(); err != nil {
		t.Error(err)
	}
}

// TestSpareLate: an Assign ended before it knew that it had made the slot of a new worker id, which
// another process took over later, and which the store has forgotten. The next Assign comes back to
// that worker id, and begins where Restore says.
func TestSpareLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, true)
		assign(t, newAssigner(t, s, nil)) // makes the header
		restore := s.backup()
		late := newAssigner(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		s.set(func() {
			s.fault = func(op, _ string) (bool, error) {
				if op == "put" {
					cancel()
					return true, errLost
				}
				return true, nil
			}
		})
		if c, err := late.Assign(ctx, maxWorker); !errors.Is(err, context.Canceled) {
			t.Fatalf("Assign = %v, %v, want its ctx's error", c, err)
		}
		s.set(func() { s.fault = nil })
		time.Sleep(30 * time.Minute)
		const window = 6 * time.Hour
		heir := assign(t, newAssigner(t, s, &lease.Options{Window: window, First: 2}))
		if heir.Worker() != 2 {
			t.Fatalf("the heir has worker %d, want 2", heir.Worker())
		}
		restore()
		if err := newAssigner(t, s, nil).Restore(t.Context(), 2, window, ""); err != nil {
			t.Fatal(err)
		}
		c := assign(t, late)
		if c.Worker() == heir.Worker() && from(c).Before(until(heir)) {
			t.Errorf("worker %d twice: the second window begins at %v, in the first, which ends at %v",
				c.Worker(), from(c), until(heir))
		}
	})
}

// TestLateUntold: an Assign whose window has passed before it read the header, and which is not told the time
// then, asks again.
func TestLateUntold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		s.once(1, "put", slot0, func(run func() error) error {
			s.once(1, "get", lease.HeaderName, func(run func() error) error {
				time.Sleep(2 * time.Second)
				s.once(1, "now", "", notDone)
				return run()
			})
			return run()
		})
		c := assign(t, newAssigner(t, s, &lease.Options{Window: time.Second}))
		if !until(c).After(time.Now()) {
			t.Errorf("the window ends at %v, want one that has not passed", until(c))
		}
	})
}
