package lease_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// TestNewHeaderFloor: a process that has claimed in a store, which lost everything since, makes the
// header anew. A process that knows nothing begins behind the windows that the store forgot.
func TestNewHeaderFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		a := newAssigner(t, m, nil)
		forgotten := assign(t, a)
		other := assign(t, newAssigner(t, m, nil))
		remove(m, slices.Collect(maps.Keys(m.entries))...)
		if _, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
			t.Fatalf("Assign = %v, want ErrWentBack", err)
		}
		late := assign(t, newAssigner(t, m, nil))
		if end := time.Now().Add(reach); from(late).Before(end) {
			t.Errorf("worker %d begins at %v, want a reach from now, %v; workers %d and %d run to %v",
				late.Worker(), from(late), end, forgotten.Worker(), other.Worker(), until(other))
		}
		// A process that has claimed nowhere begins at once in a store that has nothing.
		if c := assign(t, newAssigner(t, &memory{}, nil)); !from(c).IsZero() {
			t.Errorf("the first window begins at %v, want no beginning", from(c))
		}
	})
}

// TestForgottenBeyondReach: a store without a clock grants windows that end beyond the reach. What
// is repaired after it went back, and what is claimed next, begins behind the one that is known.
func TestForgottenBeyondReach(t *testing.T) {
	t.Parallel()
	for name, back := range map[string]func(*memory, func()){
		"an older slot": func(_ *memory, restore func()) { restore() },
		"no slot":       func(m *memory, _ func()) { remove(m, slot0) },
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{}
			a := newAssigner(t, m, nil)
			c := assign(t, a)
			restore := m.backup()
			extend(t, c, 10*reach)
			end := until(c)
			back(m, restore)
			if _, err := c.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
				t.Fatalf("%s: Extend = %v, want ErrWentBack", name, err)
			}
			if next := assign(t, a); from(next).Before(end) {
				t.Errorf("%s: the next window begins at %v, want %v or later", name, from(next), end)
			}
			late := newAssigner(t, m, &lease.Options{Last: 1})
			late.SetClock(func() time.Time { return time.Now().Add(2 * reach) })
			for range 2 {
				if other, err := late.Assign(t.Context(), maxWorker); err == nil && other.Worker() == 0 &&
					from(other).Before(end) {
					t.Errorf("%s: worker 0 begins again at %v, want %v or later", name, from(other), end)
				}
			}
		})
	}
}

// TestBackDuringClaim: while one claim is made, another one of the process finds that the store went
// back. The first begins behind what the store may have forgotten, also where its answer was lost.
func TestBackDuringClaim(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(run func() error) error{
		"answered": func(run func() error) error { return run() },
		"lost":     done,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			a := newAssigner(t, s, nil)
			c := assign(t, a)
			restore := s.backup()
			extend(t, c, time.Hour)
			restore()
			met := s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error {
				err := answer(run)
				if _, lost := c.Extend(t.Context(), until(c).Add(time.Hour)); !errors.Is(lost, assigner.ErrWentBack) {
					t.Errorf("%s: Extend = %v, want ErrWentBack", name, lost)
				}
				return err
			})
			begin := time.Now().Add(reach)
			next := assign(t, a)
			if !*met || from(next).Before(begin) || name == "lost" && next.Worker() != 1 {
				t.Errorf("%s: the window of worker %d begins at %v, want %v or later", name, next.Worker(),
					from(next), begin)
			}
		})
	}
}

// TestNoSlot: an entry whose name is not exactly that of a slot is none, and no reason not to claim
// the worker id that it may seem to be.
func TestNoSlot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"slot-00", "slot-+0", "slot--1", "slot-", "slot-0x", "slott-0",
		"slot-9007199254740993", "slot-99999999999999999999"} {
		m := &memory{}
		put(m, name, `{"v":1,"gen":5,"token":"t","owner":"x","until_ms":9007199254740992}`)
		if c := assign(t, newAssigner(t, m, nil)); c.Worker() != 0 {
			t.Errorf("%s: worker = %d, want 0", name, c.Worker())
		}
		all, err := newAssigner(t, m, nil).Slots(t.Context())
		if err != nil || len(all) != 1 {
			t.Errorf("%s: Slots = %+v, %v, want that of worker 0 alone", name, all, err)
		}
	}
}

// TestForgottenListed: the repair of a slot that the store forgot together with its note makes a note
// first, and is a slot of the header's universe, so starts go on, past that worker id.
func TestForgottenListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		restore := s.backup()
		x := newAssigner(t, s, nil)
		c := assign(t, x)
		restore()
		s.around = func(op, name string, run func() error) error {
			number, slot := strings.CutPrefix(name, lease.SlotPrefix)
			err := run()
			if op == "put" && err == nil && slot && !s.has(lease.NotePrefix+number) {
				t.Errorf("%s is made before its note", name)
			}
			return err
		}
		if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrWentBack", err)
		}
		for want, a := range []assigner.Assigner{2: x, 3: newAssigner(t, s, nil)} {
			if a == nil {
				continue
			}
			if c := assign(t, a); c.Worker() != int64(want) {
				t.Errorf("worker %d, want %d", c.Worker(), want)
			}
		}
	})
}
