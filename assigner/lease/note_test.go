package lease_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

// apart is a store whose List leaves the notes out, and which tells them apart.
type apart struct {
	*ambush
	err error // of Notes
}

func (s apart) List(ctx context.Context) ([]lease.Entry, error) {
	all, err := s.ambush.List(ctx)
	return slices.DeleteFunc(all, func(e lease.Entry) bool {
		return strings.HasPrefix(e.Name, lease.NotePrefix)
	}), err
}

func (s apart) Notes(ctx context.Context) (ids []int64, err error) {
	all, err := s.ambush.List(ctx)
	for _, e := range all {
		if id, ok := storekind.WorkerOf(e.Name, lease.NotePrefix); ok {
			ids = append(ids, id)
		}
	}
	return ids, errors.Join(err, s.err)
}

// TestNotesCount: a worker id that has a note and no slot counts as given out, in a move, in Examine and
// at a start, whether the store lists its notes or tells them apart.
func TestNotesCount(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := place{newAmbush(), "old"}
			var from lease.Store = s
			var told *apart
			if !listed {
				told = &apart{ambush: s.ambush}
				from = told
			}
			for range 3 {
				mustAssign(t, bound(t, from, moveOne, nil))
			}
			remove(s.memory, slot0, lease.SlotPrefix+"2")
			put(s.memory, lease.NotePrefix+"-1", "x") // no note
			put(s.memory, lease.NotePrefix+"09", "x") // neither
			lists := 0
			s.around = func(op, _ string, run func() error) error {
				if op == "list" {
					lists++
				}
				return run()
			}
			c, err := bound(t, from, moveOne, nil).Examine(t.Context())
			if err != nil || c.Used != 3 || c.Slots != 1 || listed && lists > 1 {
				t.Errorf("Examine = %+v, %v after %d lists, want 3 worker ids given out, 1 slot, and one list",
					c, err, lists)
			}
			puts := 0
			s.around = func(op, name string, run func() error) error {
				if op == "put" && strings.HasPrefix(name, lease.NotePrefix) {
					puts++
				}
				return run()
			}
			if c, err := bound(t, from, moveOne, nil).Assign(t.Context(), 2); !errors.Is(err,
				assigner.ErrWorkersExhausted) || puts > 2 {
				t.Errorf("Assign = %v, %v after %d notes, want ErrWorkersExhausted after 2 at most", c, err, puts)
			}
			s.around = nil
			if told != nil {
				told.err = lease.ErrRefused
				if c, err := bound(t, told, moveOne, nil).Assign(t.Context(), 2); !errors.Is(err, lease.ErrRefused) {
					t.Errorf("Assign without the notes = %v, %v, want ErrRefused", c, err)
				}
				if _, err := bound(t, told, moveOne, nil).Examine(t.Context()); !errors.Is(err, lease.ErrRefused) {
					t.Errorf("Examine without the notes = %v, want ErrRefused", err)
				}
				_, err := lease.Move(t.Context(), bound(t, told, moveOne, nil), bound(t, &memory{}, moveOne, nil), nil)
				if !errors.Is(err, lease.ErrRefused) {
					t.Errorf("Move without the notes = %v, want ErrRefused", err)
				}
				told.err = nil
			}
			to := named{&memory{}, "new"}
			if _, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil),
				nil); err != nil {
				t.Fatal(err)
			}
			for want := range int64(2) {
				c := mustAssign(t, bound(t, to, moveOne, nil))
				if c.Worker() != 3+want {
					t.Errorf("worker %d in the target, want %d: 0 and 2 have no slot, 1 has one", c.Worker(), 3+want)
				}
			}
		})
	}
}

// TestUniverseOfOld: the header of an earlier version, which names no universe, gets a name before a slot
// has it, and slots that it lists need none.
func TestUniverseOfOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		put(s.memory, lease.HeaderName, `{"v":1,"token":"1","layout":"","used":[[0,1]]}`)
		put(s.memory, slot0, `{"v":1,"gen":1,"token":"1","owner":"x","until_ms":900000000000000}`)
		s.once(1, "put", lease.HeaderName, notDone)
		for want := range int64(2) {
			if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1+want {
				t.Errorf("worker %d, want %d", c.Worker(), 1+want)
			}
		}
		h := recordOf(t, s.memory, lease.HeaderName)
		if r := recordOf(t, s.memory, lease.SlotPrefix+"1"); r.Universe == "" || r.Universe != h.Universe {
			t.Errorf("the slot is of universe %q, the header of %q", r.Universe, h.Universe)
		}
	})
}

// TestNoteWithSlot: a start whose worker id turns out to have a slot leaves it alone and takes another
// one, also where the note got no answer.
func TestNoteWithSlot(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(run func() error) error{
		"answered": answered, "unanswered": done, "sent twice": doubled,
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			met := s.once(1, "put", lease.NotePrefix+"0", answer)
			text := ""
			s.once(1, "put", slot0, func(run func() error) error {
				text = `{"v":1,"gen":1,"token":"1","owner":"x","until_ms":900000000000000,"universe":"` +
					recordOf(t, s.memory, lease.HeaderName).Universe + `"}`
				put(s.memory, slot0, text)
				return run()
			})
			puts, hit := 0, s.around
			s.around = func(op, name string, run func() error) error {
				if op == "put" && name == slot0 {
					puts++
				}
				return hit(op, name, run)
			}
			if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 || !*met || puts != 1 {
				t.Errorf("%s: worker %d after %d writes of slot 0, want 1 after one", name, c.Worker(), puts)
			}
			if got := string(s.entries[slot0].Value); got != text {
				t.Errorf("%s: the slot is %s, want %s as before", name, got, text)
			}
		})
	}
}

// TestNoteLosses: a start that loses many notes goes on, in a bounded range too.
func TestNoteLosses(t *testing.T) {
	t.Parallel()
	for _, last := range []int64{maxWorker, 1<<53 - 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			assign(t, newAssigner(t, s, nil))
			losses := 40
			s.around = func(op, name string, run func() error) error {
				if losses > 0 && op == "put" && strings.HasPrefix(name, lease.NotePrefix) {
					losses--
					return lease.ErrConflict
				}
				return run()
			}
			c, err := newAssigner(t, s, nil).Assign(t.Context(), last)
			if err != nil || losses > 0 || c.Worker() > 600 {
				t.Errorf("Assign = %v, %v, and %d losses are left, want one of the lowest", c, err, losses)
			}
		})
	}
}

// TestStartCalls: a start that is alone asks for nothing but what it needs, on an empty note as well.
func TestStartCalls(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	assign(t, newAssigner(t, s, nil))
	put(s.memory, lease.NotePrefix+"0", `{"v":1}`)
	var calls []string
	s.around = func(op, name string, run func() error) error {
		calls = append(calls, strings.TrimSpace(op+" "+name))
		return run()
	}
	want := []string{"list", "put used-1", "get header", "put slot-1", "get header"}
	if assign(t, newAssigner(t, s, nil)); !slices.Equal(calls, want) {
		t.Errorf("the calls are %q, want %q", calls, want)
	}
}

// TestExhaustedReads: an Assign that finds no worker id reads the eight slots that end first, those that
// cannot be read as well, and takes one that is free by now.
func TestExhaustedReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		var claims []assigner.Claim
		for range 12 {
			claims = append(claims, assign(t, newAssigner(t, s, nil)))
			time.Sleep(time.Second)
		}
		reads := 0
		s.around = func(op, name string, run func() error) error {
			if op == "get" && strings.HasPrefix(name, lease.SlotPrefix) {
				if reads++; reads == 1 {
					return errLost
				}
			}
			return run()
		}
		_, err := newAssigner(t, s, nil).Assign(t.Context(), 11)
		if !errors.Is(err, assigner.ErrWorkersExhausted) || reads != 8 {
			t.Errorf("Assign = %v after %d reads, want ErrWorkersExhausted after 8", err, reads)
		}
		reads = 1 // all are answered
		s.once(1, "list", "", func(run func() error) error {
			err := run()
			if released := claims[3].Release(t.Context(), time.Now()); released != nil {
				t.Error(released)
			}
			return err
		})
		if c, err := newAssigner(t, s, nil).Assign(t.Context(), 11); err != nil || c.Worker() != 3 {
			t.Errorf("Assign = %v, %v, want worker 3, whose window ends now", c, err)
		}
	})
}

// TestExhaustedWithoutSlots: a start that finds no worker id says how many of the range have no slot, so
// that nobody waits for those, whether the store lists its notes or tells them apart.
func TestExhaustedWithoutSlots(t *testing.T) {
	t.Parallel()
	for _, listed := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			var store lease.Store = s
			if !listed {
				store = apart{ambush: s}
			}
			assign(t, newAssigner(t, store, nil)) // worker 0, outside of the range
			o := &lease.Options{First: 1, Last: 5}
			for range 3 {
				assign(t, newAssigner(t, store, o))
			}
			for range 2 { // starts that crash before they make the slot
				s.around = func(op, name string, run func() error) error {
					if op == "put" && strings.HasPrefix(name, lease.SlotPrefix) {
						return lease.ErrRefused
					}
					return run()
				}
				_, err := newAssigner(t, store, o).Assign(t.Context(), maxWorker)
				if !errors.Is(err, lease.ErrRefused) {
					t.Fatalf("Assign = %v, want ErrRefused", err)
				}
			}
			s.around = nil
			exhausted := func(o *lease.Options, want string) {
				t.Helper()
				want = ": " + want + " reserved, the first until 2000-01-01 00:20:00 +0000 UTC, for another 20m0s; wait"
				if _, err := newAssigner(t, store, o).Assign(t.Context(), maxWorker); !errors.Is(err,
					assigner.ErrWorkersExhausted) || !strings.Contains(err.Error(), want) {
					t.Errorf("notes listed %v: Assign = %v, want ErrWorkersExhausted%s", listed, err, want)
				}
			}
			exhausted(o, "2 have no slot and are not given out again, all others of the worker ids 1 to 5 are")
			exhausted(&lease.Options{First: 1, Last: 3}, "all of the worker ids 1 to 3 are")
		})
	}
}

// TestRepairNoted: no slot that a store forgot together with its note is made before the note, and a
// Numberer, which keeps no notes, gets none.
func TestRepairNoted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		restore := s.backup()
		c := assign(t, newAssigner(t, s, nil))
		restore()
		s.once(1, "put", lease.NotePrefix+"1", refused)
		if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, lease.ErrRefused) ||
			s.has(lease.SlotPrefix+"1") {
			t.Errorf("Extend = %v, and the slot is there: %v, want it refused", err, s.has(lease.SlotPrefix+"1"))
		}
		s.around = nil
		c = assign(t, newAssigner(t, s, nil))
		remove(s.memory, slotOf(c), lease.NotePrefix+itoa(c.Worker()))
		_, err := c.Extend(t.Context(), time.Now().Add(time.Hour))
		h, r := recordOf(t, s.memory, lease.HeaderName), recordOf(t, s.memory, slotOf(c))
		if !errors.Is(err, assigner.ErrWentBack) || r.Universe != h.Universe || r.Changes != h.Changes {
			t.Errorf("Extend = %v, and the slot is %+v, want ErrWentBack, and the universe and changes of %+v",
				err, r, h)
		}
		numbered := newIndexed(0, false)
		c = assign(t, newAssigner(t, numbered, nil))
		remove(numbered.memory, slot0)
		if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrWentBack", err)
		}
		if numbered.has(lease.NotePrefix + "0") {
			t.Error("the Numberer has a note")
		}
	})
}

// TestFloorNumbered: a floor keeps layouts away where a move has left it, also in a Numberer. The one of
// a Numberer's Restore is about worker ids without a slot that it gives out no more.
func TestFloorNumbered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now().Add(2 * time.Hour)
		for moved, want := range map[string]error{
			"": nil, `,"move":{"token":"t","from":"x","done":false}`: assigner.ErrLayoutMismatch,
		} {
			s := newIndexed(0, false)
			put(s.memory, lease.HeaderName, fmt.Sprintf(
				`{"v":1,"token":"t","layout":%q,"floor_ms":%d,"universe":"u","used":[]%s}`,
				layoutOld, begin.UnixMilli()+1, moved))
			_, err := newAssigner(t, s, nil).BindLayout(layoutOld+","+beginning(begin)).Assign(t.Context(), maxWorker)
			if !errors.Is(err, want) {
				t.Errorf("moved %q: Assign = %v, want %v", moved, err, want)
			}
		}
	})
}

// oldList is a memory whose List shows an older state while there is one.
type oldList struct {
	*ambush
	old *memory
}

func (s *oldList) List(ctx context.Context) ([]lease.Entry, error) {
	if s.old != nil {
		return s.old.List(ctx)
	}
	return s.ambush.List(ctx)
}

// TestRestoreUnseen: a start that has not seen a Restore, because its List is of before or because it was
// paused since, gets no window that overlaps one that the store forgot.
func TestRestoreUnseen(t *testing.T) {
	t.Parallel()
	for _, paused := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &oldList{ambush: newAmbush()}
			assign(t, newAssigner(t, s, nil))
			var forgotten assigner.Claim
			floor := time.Now().Add(2 * time.Hour)
			back := func() {
				older := s.backup()
				forgotten = assign(t, newAssigner(t, s.memory, nil))
				older()
				if !paused {
					s.old = &memory{entries: maps.Clone(s.entries)}
				}
				if err := newAssigner(t, s.memory, nil).Restore(t.Context(), 1, 2*time.Hour, ""); err != nil {
					t.Fatal(err)
				}
			}
			if !paused {
				back()
			} else {
				s.once(1, "put", lease.NotePrefix+"1", func(run func() error) error { back(); return run() })
			}
			c := assign(t, newAssigner(t, s, nil))
			if c.Worker() == forgotten.Worker() || from(c).Before(floor) {
				t.Errorf("paused %v: worker %d from %v, want another than %d, behind the floor", paused, c.Worker(),
					from(c), forgotten.Worker())
			}
		})
	}
}

// TestHeaderOlder: a header that alone went back to an older state is refused where a slot was claimed
// since it was changed: what is forgotten may be a floor, used worker ids, or a layout.
func TestHeaderOlder(t *testing.T) {
	t.Parallel()
	for _, layouts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			m := &memory{}
			a := beginning(time.Now().Add(-24 * time.Hour))
			b := a
			if layouts {
				b += "," + beginning(time.Now().Add(30*time.Minute))
			}
			o := &lease.Options{Window: time.Minute}
			assign(t, newAssigner(t, m, o).BindLayout(a))
			old := m.entries[lease.HeaderName]
			if !layouts {
				back := m.backup()
				for range 2 {
					assign(t, newAssigner(t, m, o).BindLayout(a))
				}
				back()
				if err := newAssigner(t, m, nil).Restore(t.Context(), 2, 2*time.Hour, a); err != nil {
					t.Fatal(err)
				}
			}
			assign(t, newAssigner(t, m, &lease.Options{Window: time.Hour}).BindLayout(b))
			m.set(func() { m.entries[lease.HeaderName] = old })
			if c, err := newAssigner(t, m, o).BindLayout(a).Assign(t.Context(), maxWorker); !errors.Is(err,
				assigner.ErrWentBack) {
				t.Errorf("layouts %v: Assign = %v, %v, want ErrWentBack", layouts, c, err)
			}
		})
	}
}

// TestHeaderPutBack: where a header alone was put back to before a Restore, nothing changes it: neither a
// start that knows one more layout, nor a move, nor a layout that is taken back, and Examine says so. An
// extension that has seen the later one ends its claim.
func TestHeaderPutBack(t *testing.T) {
	t.Parallel()
	for _, since := range []bool{true, false} { // a claim since the Restore
		synctest.Test(t, func(t *testing.T) {
			m := &memory{}
			one := beginning(time.Now().Add(-24 * time.Hour))
			both := one + "," + beginning(time.Now().Add(24*time.Hour))
			a := newAssigner(t, m, nil).BindLayout(one).(*lease.Assigner)
			assign(t, a)
			old := m.entries[lease.HeaderName]
			back := m.backup()
			assign(t, a)
			back()
			if err := newAssigner(t, m, nil).Restore(t.Context(), 1, 2*time.Hour, one); err != nil {
				t.Fatal(err)
			}
			var late assigner.Claim
			if since {
				late = assign(t, newAssigner(t, m, nil).BindLayout(one))
			}
			m.set(func() { m.entries[lease.HeaderName] = old })
			fresh := func(layout string) *lease.Assigner {
				return newAssigner(t, m, nil).BindLayout(layout).(*lease.Assigner)
			}
			_, first := fresh(one).Assign(t.Context(), maxWorker)
			_, second := fresh(both).Assign(t.Context(), maxWorker)
			_, moved := lease.Move(t.Context(), fresh(one), newAssigner(t, &memory{}, nil), nil)
			for what, err := range map[string]error{
				"a start": first, "a start with a layout": second, "a move": moved,
				"taking back": fresh("").TakeBack(t.Context(), one),
			} {
				if !errors.Is(err, assigner.ErrWentBack) {
					t.Errorf("claimed since %v: %s = %v, want ErrWentBack", since, what, err)
				}
			}
			if c, err := fresh(one).Examine(t.Context()); err != nil || len(c.Faults) != 1 {
				t.Errorf("Examine = %+v, %v, want one fault", c, err)
			}
			if since {
				_, err := late.Extend(t.Context(), until(late).Add(time.Hour))
				if !errors.Is(err, assigner.ErrWentBack) {
					t.Errorf("Extend = %v, want ErrWentBack", err)
				}
			}
			if err := fresh("").Restore(t.Context(), 2, 2*time.Hour, one); err != nil {
				t.Fatal(err)
			}
			if c := assign(t, fresh(one)); c.Worker() != 3 {
				t.Errorf("worker %d after Restore, want 3", c.Worker())
			}
		})
	}
}

// TestOldHeader: a header that was deleted and is put back after a Restore is not that of the slots.
func TestOldHeader(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		assign(t, newAssigner(t, m, nil))
		old := m.entries[lease.HeaderName]
		remove(m, lease.HeaderName)
		if err := newAssigner(t, m, nil).Restore(t.Context(), 0, 0, "l"); err != nil {
			t.Fatal(err)
		}
		m.set(func() { m.entries[lease.HeaderName] = old })
		if c, err := newAssigner(t, m, nil).Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Assign = %v, %v, want ErrWentBack", c, err)
		}
	})
}

// TestSpareOver: a new worker id whose slot may have been made by a change that got no answer is kept for
// as long as its window would run, and no longer: another process may have claimed the slot since, and
// somebody deleted it.
func TestSpareOver(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := deaf{newAmbush()}
			a := newAssigner(t, s, &lease.Options{First: 1})
			ctx, cancel := context.WithCancel(t.Context())
			s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error {
				cancel()
				return done(run)
			})
			if c, err := a.Assign(ctx, maxWorker); err == nil {
				t.Fatalf("Assign = %v, want its ctx's error", c)
			}
			pause := 20*time.Minute - time.Millisecond
			if late {
				pause = 20 * time.Minute
			}
			time.Sleep(pause)
			other := time.Time{}
			if late {
				other = until(assign(t, newAssigner(t, s, &lease.Options{First: 1, Last: 1})))
			}
			remove(s.memory, lease.SlotPrefix+"1")
			c := assign(t, a)
			if (c.Worker() == 1) == late {
				t.Errorf("late %v: worker %d from %v, another process has had 1 until %v", late, c.Worker(), from(c),
					other)
			}
		})
	}
}

// TestNoteLate: a note that got no answer, and lands right before it is sent again, is the start's all the
// same.
func TestNoteLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := deaf{newAmbush()}
		assign(t, newAssigner(t, s, nil))
		var land func() error
		s.once(1, "put", lease.NotePrefix+"1", func(run func() error) error { land = run; return errLost })
		again := s.once(2, "put", lease.NotePrefix+"1", func(run func() error) error {
			if err := land(); err != nil {
				t.Error(err)
			}
			return run()
		})
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 || !*again {
			t.Errorf("worker %d, and the note was sent again: %v, want worker 1", c.Worker(), *again)
		}
	})
}

// TestNotesRead: a start that loses eight notes, or finds no other worker id, learns which notes there
// are: from a store that tells them apart by one call, else by another list. It tries no note twice.
func TestNotesRead(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"told apart", "listed", "index"} {
		for _, last := range []int64{39, maxWorker} {
			synctest.Test(t, func(t *testing.T) {
				m := newAmbush()
				assign(t, newAssigner(t, m, nil))
				for i := range 39 { // the worker ids of deleted slots
					put(m.memory, lease.NotePrefix+itoa(int64(i+1)), "{}")
				}
				if last > 39 {
					remove(m.memory, lease.NotePrefix+"39")
				}
				calls := map[string]int{}
				fail := 0
				m.around = func(op, name string, run func() error) error {
					if calls[op]++; strings.HasPrefix(name, lease.NotePrefix) {
						if calls[op+" "+name]++; op == "put" && last > 39 && fail < 12 {
							fail++
							return lease.ErrConflict
						}
					}
					return run()
				}
				var s lease.Store = m
				switch name {
				case "told apart":
					s = &apart{ambush: m}
				case "index":
					s = unseeing{m}
				}
				c, err := newAssigner(t, s, nil).Assign(t.Context(), last)
				if (err == nil) != (last > 39) || err != nil && !errors.Is(err, assigner.ErrWorkersExhausted) {
					t.Errorf("%s: Assign = %v, %v", name, c, err)
				}
				most := map[string]int{"told apart": 3, "listed": 4, "index": 3}[name]
				if calls["list"] > most || last == 39 && calls["put"] > tries {
					t.Errorf("%s, up to %d: %d lists and %d puts, want few", name, last, calls["list"], calls["put"])
				}
				looks := 0
				for call, n := range calls {
					if strings.HasPrefix(call, "put "+lease.NotePrefix) && n > 1 && name != "listed" {
						t.Errorf("%s: %s %d times, want once", name, call, n)
					}
					if strings.HasPrefix(call, "get "+lease.NotePrefix) {
						looks += n
					}
				}
				if looks > 1 {
					t.Errorf("%s: it looks at %d notes, want one at most", name, looks)
				}
			})
		}
	}
}

// tries is how many notes a start loses before it asks which there are.
const tries = 8

// unseeing is an Index that shows no slot and no note.
type unseeing struct{ *ambush }

func (s unseeing) Look(ctx context.Context, _ lease.Query) (lease.Entry, []lease.Entry, error) {
	h, err := s.Get(ctx, lease.HeaderName)
	return h, nil, err
}

func (unseeing) Latest(context.Context) (lease.Entry, error) { return lease.Entry{}, nil }

func (unseeing) Shows(context.Context, string, string) (bool, error) { return false, nil }

// TestExhaustedRange: of an Index, the slots of the range that end first are read again, and not those of
// other processes' ranges.
func TestExhaustedRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(time.Second, false)
		for i := range int64(9) {
			assign(t, newAssigner(t, s, &lease.Options{First: i, Last: max(1, i)}))
		}
		c := assign(t, newAssigner(t, s, &lease.Options{First: 9, Window: time.Hour}))
		time.Sleep(2 * time.Second)
		if err := c.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
		again, err := newAssigner(t, s, &lease.Options{First: 9}).Assign(t.Context(), 9)
		if err != nil || again.Worker() != 9 {
			t.Errorf("Assign = %v, %v, want worker 9, which the index does not show as free yet", again, err)
		}
	})
}

// TestNoteAfterLoss: a note that gets no answer is a start's own also where it has met others before.
func TestNoteAfterLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		puts := 0
		s.around = func(op, name string, run func() error) error {
			if op == "put" && strings.HasPrefix(name, lease.NotePrefix) {
				switch puts++; puts {
				case 1:
					put(s.memory, name, "{}")
				case 2:
					return done(run)
				}
			}
			return run()
		}
		c := assign(t, newAssigner(t, s, nil))
		if len(s.entries) != 6 || puts != 3 { // the header, three notes and two slots
			t.Errorf("worker %d after %d notes, and the entries are %v", c.Worker(), puts, s.entries)
		}
	})
}

// TestLookSealed: an Assign in a store that it has seen sealed, and that is not any more, changes nothing.
func TestLookSealed(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			from := named{&memory{}, "old"}
			a := bound(t, from, moveOne, nil)
			c := mustAssign(t, a)
			if free {
				if err := c.Release(t.Context(), time.Now()); err != nil {
					t.Fatal(err)
				}
			}
			back := from.backup()
			mustMove(t, from, named{&memory{}, "new"})
			if _, err := a.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
				t.Fatal(err)
			}
			back()
			was := from.version
			if _, err := a.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrWentBack) || from.version != was {
				t.Errorf("Assign = %v after %d changes, want ErrWentBack and none", err, from.version-was)
			}
		})
	}
}

// deaf is a store whose calls do not end with their ctx.
type deaf struct{ *ambush }

func (d deaf) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	return d.ambush.Put(context.WithoutCancel(ctx), old, value)
}
