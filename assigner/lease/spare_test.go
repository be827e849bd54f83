package lease_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// overlap reports whether windows of one worker id overlap.
func overlap(a, b assigner.Claim) bool {
	return a.Worker() == b.Worker() && from(a).Before(until(b)) && from(b).Before(until(a))
}

// TestSpareOverIndexed: TestSpareOver for worker ids that a Numberer gives for good, and in an Index.
func TestSpareOverIndexed(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newWatched(own)
			var store lease.Store = s
			if !own {
				store = unnumbered{s}
			}
			a := newAssigner(t, store, &lease.Options{First: 1})
			ctx, cancel := context.WithCancel(t.Context())
			s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error { cancel(); return done(run) })
			if c, err := a.Assign(ctx, maxWorker); err == nil {
				t.Fatalf("Assign = %v, want its ctx's error", c)
			}
			time.Sleep(20 * time.Minute)
			other := assign(t, newAssigner(t, store, &lease.Options{First: 1, Last: 1}))
			remove(s.memory, lease.SlotPrefix+"1")
			if c := assign(t, a); overlap(c, other) {
				t.Errorf("own %v: worker %d from %v on, and another until %v", own, c.Worker(), from(c), until(other))
			}
		})
	}
}

// TestSpareOverTwice: of two changes that may have made the slot of a worker id that is left over, the window
// that ends first counts.
func TestSpareOverTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := deaf{newAmbush()}
		a := newAssigner(t, s, &lease.Options{First: 1})
		var land func() error
		for _, meet := range []func(run func() error) error{
			func(run func() error) error { land = run; return errLost }, notDone,
		} {
			ctx, cancel := context.WithCancel(t.Context())
			s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error { cancel(); return meet(run) })
			if c, err := a.Assign(ctx, maxWorker); err == nil {
				t.Fatalf("Assign = %v, want its ctx's error", c)
			}
			time.Sleep(10 * time.Minute)
		}
		if err := land(); err != nil {
			t.Fatal(err)
		}
		other := assign(t, newAssigner(t, s, &lease.Options{First: 1, Last: 1}))
		remove(s.memory, lease.SlotPrefix+"1")
		if c := assign(t, a); overlap(c, other) {
			t.Errorf("worker %d from %v on, and another until %v", c.Worker(), from(c), until(other))
		}
	})
}

// TestSpareOverClock: the window that ends first may be that of the later change, where the clock was ahead.
func TestSpareOverClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := deaf{newAmbush()}
		ahead := time.Hour
		a := newAssigner(t, s, &lease.Options{First: 1})
		a.SetClock(func() time.Time { return time.Now().Add(ahead) })
		for _, meet := range []func(run func() error) error{notDone, done} {
			ctx, cancel := context.WithCancel(t.Context())
			s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error { cancel(); return meet(run) })
			if c, err := a.Assign(ctx, maxWorker); err == nil {
				t.Fatalf("Assign = %v, want its ctx's error", c)
			}
			ahead = 0
			time.Sleep(time.Minute)
		}
		time.Sleep(20 * time.Minute)
		other := assign(t, newAssigner(t, s, &lease.Options{First: 1, Last: 1}))
		remove(s.memory, lease.SlotPrefix+"1")
		if c := assign(t, a); overlap(c, other) {
			t.Errorf("worker %d from %v on, and another until %v", c.Worker(), from(c), until(other))
		}
	})
}

// TestSpareOverEra: or where an era was announced meanwhile, and taken back since.
func TestSpareOverEra(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		one := beginning(time.Now().Add(-24 * time.Hour))
		both := one + "," + beginning(time.Now().Add(30*time.Minute))
		a := newAssigner(t, s, &lease.Options{First: 1, Window: time.Hour}).BindLayout(one)
		try := func(meet func(run func() error) error) {
			ctx, cancel := context.WithCancel(t.Context())
			s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error {
				defer cancel()
				return meet(run)
			})
			if c, err := a.Assign(ctx, maxWorker); err == nil {
				t.Fatalf("Assign = %v, want its ctx's error", c)
			}
		}
		try(notDone)
		nine := assign(t, newAssigner(t, s, &lease.Options{First: 9, Window: time.Minute}).BindLayout(both))
		try(done)
		if err := nine.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := newAssigner(t, s, nil).TakeBack(t.Context(), one); err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Minute)
		short := &lease.Options{First: 1, Last: 1, Window: 5 * time.Minute}
		other := assign(t, newAssigner(t, s, short).BindLayout(one))
		time.Sleep(6 * time.Minute)
		remove(s.memory, lease.SlotPrefix+"1", lease.SlotPrefix+"9")
		if c := assign(t, a); overlap(c, other) {
			t.Errorf("worker %d from %v on, and another until %v", c.Worker(), from(c), until(other))
		}
	})
}

// TestSlotOfItsOwn: an Assign whose window is of no use, because the store turns out to have gone back, does
// not warn of the slot that it has made.
func TestSlotOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		var log bytes.Buffer
		a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		begin := time.Now().Add(23 * time.Hour)
		s.once(1, "put", slot0, func(run func() error) error {
			s.once(1, "get", lease.HeaderName, func(run func() error) error {
				a.Forgot(begin.UnixMilli())
				return run()
			})
			return run()
		})
		if c := assign(t, a); from(c).Before(begin) || log.Len() > 0 {
			t.Errorf("worker %d from %v on, and the log is %q, want nothing", c.Worker(), from(c), &log)
		}
	})
}

// TestSpareForgotten: a new worker id whose note the store has forgotten may be another process's, be it
// that an Assign left it over or goes on with it.
func TestSpareForgotten(t *testing.T) {
	t.Parallel()
	for _, left := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := deaf{newAmbush()}
			hold := assign(t, newAssigner(t, s, nil))
			extend(t, hold, 4*time.Hour)
			back := s.backup()
			a := newAssigner(t, s, &lease.Options{Window: 3 * time.Hour})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var other assigner.Claim
			forget := func() {
				s.around = nil
				back()
				if err := newAssigner(t, s, nil).Restore(t.Context(), 0, time.Hour, ""); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour)
				other = assign(t, newAssigner(t, s, nil))
				remove(s.memory, slotOf(other))
			}
			s.once(1, "put", lease.SlotPrefix+"1", func(func() error) error { // nothing arrives
				if left {
					cancel()
				} else {
					forget()
				}
				return errLost
			})
			c, err := a.Assign(ctx, maxWorker)
			if left {
				if err == nil {
					t.Fatalf("Assign = %v, want its ctx's error", c)
				}
				forget()
				c, err = a.Assign(t.Context(), maxWorker)
			}
			if err != nil {
				t.Fatal(err)
			}
			if other.Worker() != 1 || overlap(c, other) {
				t.Errorf("left over %v: worker %d from %v on, and another from %v until %v", left, c.Worker(), from(c),
					from(other), until(other))
			}
		})
	}
}

// TestSpareRepeated: an Assign that is repeated as long as no answers come uses up one worker id.
func TestSpareRepeated(t *testing.T) {
	t.Parallel()
	for _, unanswered := range []string{lease.NotePrefix, lease.SlotPrefix} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			assign(t, newAssigner(t, s, nil))
			a := newAssigner(t, s, nil)
			s.around = func(_, name string, run func() error) error {
				if strings.HasPrefix(name, unanswered) {
					return done(run)
				}
				return run()
			}
			for range 5 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				if c, err := a.Assign(ctx, maxWorker); err == nil && unanswered == lease.NotePrefix {
					t.Errorf("Assign = %v, want an error", c)
				}
				cancel()
			}
			s.around = nil
			if c, err := newAssigner(t, s, nil).Examine(t.Context()); err != nil || c.Used != 2 {
				t.Errorf("%s: Examine = %+v, %v, want 2 worker ids", unanswered, c, err)
			}
			if c := assign(t, a); c.Worker() != 1 {
				t.Errorf("%s: worker %d, want 1", unanswered, c.Worker())
			}
		})
	}
}

// TestHeaderBackNext: a claim that knows by the header alone that the store went back remembers that
// windows are forgotten.
func TestHeaderBackNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		one := beginning(time.Now().Add(-24 * time.Hour))
		both := one + "," + beginning(time.Now().Add(240*time.Hour))
		a := newAssigner(t, s, nil).BindLayout(one)
		c := assign(t, a)
		var back func()
		s.once(1, "put", slot0, func(run func() error) error {
			err := run()
			back = s.backup()
			assign(t, newAssigner(t, s.memory, nil).BindLayout(both)) // changes the header
			return err
		})
		extend(t, c, time.Minute)
		forgotten := assign(t, newAssigner(t, s, nil).BindLayout(both))
		back()
		s.once(2, "now", "", notDone)
		if _, err := c.Extend(t.Context(), until(c).Add(time.Minute)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrWentBack", err)
		}
		next, err := a.Assign(t.Context(), maxWorker)
		for errors.Is(err, assigner.ErrWentBack) {
			next, err = a.Assign(t.Context(), maxWorker)
		}
		if err != nil {
			t.Fatal(err)
		}
		if from(next).Before(time.Now().Add(23*time.Hour)) || overlap(next, forgotten) {
			t.Errorf("worker %d from %v on, want a day from now", next.Worker(), from(next))
		}
	})
}

// TestFirstConfirm: a header that is put back before a claim has read it for the first time is known by the
// slot.
func TestFirstConfirm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		one := beginning(time.Now().Add(-24 * time.Hour))
		both := one + "," + beginning(time.Now().Add(time.Hour))
		assign(t, newAssigner(t, s, nil).BindLayout(one))
		old := s.entries[lease.HeaderName]
		assign(t, newAssigner(t, s, nil).BindLayout(both))
		s.once(1, "put", lease.SlotPrefix+"2", func(run func() error) error {
			err := run()
			s.set(func() { s.entries[lease.HeaderName] = old })
			return err
		})
		if c, err := newAssigner(t, s, nil).BindLayout(one).Assign(t.Context(), maxWorker); !errors.Is(err,
			assigner.ErrWentBack) {
			t.Errorf("Assign = %v, %v, want ErrWentBack", c, err)
		}
	})
}

// headFirst is a store whose List reads the header before the slots.
type headFirst struct {
	place
	between func()
}

func (s *headFirst) List(ctx context.Context) ([]lease.Entry, error) {
	h, err := s.Get(ctx, lease.HeaderName)
	if err != nil {
		return nil, err
	}
	if s.between != nil {
		s.between()
		s.between = nil
	}
	all, err := s.place.List(ctx)
	for i := range all {
		if all[i].Name == lease.HeaderName {
			all[i].Value, all[i].Version = h.Value, h.Version
		}
	}
	return all, err
}

// TestMoveHeaderFirst: a move is not refused for a slot that was claimed after a change of the header that
// its list does not show.
func TestMoveHeaderFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := place{newAmbush(), "old"}
		mustAssign(t, bound(t, s, moveOne, nil))
		from := &headFirst{place: s, between: func() {
			mustAssign(t, bound(t, s, moveOne, &lease.Options{Reach: 48 * time.Hour}))
			mustAssign(t, bound(t, s, moveOne, nil))
		}}
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil),
			bound(t, named{&memory{}, "new"}, moveOne, nil), nil)
		if err != nil {
			t.Errorf("Move = %v", err)
		}
	})
}
