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
)

// give makes n slots that were given back and end at used.
func give(t *testing.T, s *ambush, n int, used time.Time) {
	t.Helper()
	var claims []assigner.Claim
	for range n {
		claims = append(claims, assign(t, newAssigner(t, s, nil)))
	}
	for _, c := range claims {
		if err := c.Release(t.Context(), used); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAssignFails: a call of the store that fails once, while an Assign takes a free slot or a new
// worker id, costs it a try. It neither takes a second slot nor loses a part of the window.
func TestAssignFails(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		what     string
		n        int
		op, name string
		how      func(run func() error) error
	}{
		{"list", 1, "list", "", notDone},
		{"time, which decides what is free", 1, "now", "", notDone},
		{"time, after the slot or for a new one", 2, "now", "", notDone},
		{"time, after a new slot", 3, "now", "", notDone},
		{"slot not written", 1, "put", "slot", notDone},
		{"slot written", 1, "put", "slot", done},
		{"note not written", 1, "put", lease.NotePrefix, notDone},
		{"note written", 1, "put", lease.NotePrefix, done},
		{"note sent twice", 1, "put", lease.NotePrefix, doubled},
		{"header after the slot", 1, "get", lease.HeaderName, notDone},
	} {
		for _, free := range []int{0, 2} {
			t.Run(fmt.Sprintf("%s, %d free", tt.what, free), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := timed{newAmbush()}
					assign(t, newAssigner(t, s, nil)) // worker 0
					give(t, s.ambush, free, time.Now().Add(-time.Hour))
					before := maps.Clone(s.entries)
					a := newAssigner(t, s, nil)
					n := tt.n
					s.around = func(op, name string, run func() error) error {
						if op == "get" && strings.HasPrefix(name, lease.SlotPrefix) {
							t.Errorf("%s is read, although the list shows it", name)
						}
						if op == tt.op && strings.HasPrefix(name, tt.name) {
							if n--; n == 0 {
								return tt.how(run)
							}
						}
						return run()
					}
					c := assign(t, a)
					whole := time.Now().Add(20*time.Minute - time.Second)
					if free == 0 && c.Worker() != 1 || !from(c).IsZero() == (free == 0) || until(c).Before(whole) {
						t.Errorf("worker %d from %v until %v, want %v or later", c.Worker(), from(c), until(c), whole)
					}
					changed, slots, notes := 0, 0, 0
					for name, e := range s.entries {
						switch {
						case strings.HasPrefix(name, lease.NotePrefix):
							notes++
						case name != lease.HeaderName:
							if slots++; e.Version != before[name].Version {
								changed++
							}
						}
					}
					if changed != 1 || slots != 1+max(1, free) || notes != slots {
						t.Errorf("%d changed slots of %d, and %d notes, want 1 of %d", changed, slots, notes,
							1+max(1, free))
					}
				})
			})
		}
	}
}

// TestAssignAsksTime: a claim whose window has passed is not given although the store cannot tell the
// time.
func TestAssignAsksTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		met := s.once(2, "get", lease.HeaderName, func(run func() error) error {
			time.Sleep(time.Hour)
			s.once(1, "now", "", notDone)
			return run()
		})
		if c := assign(t, newAssigner(t, s, nil)); !until(c).After(time.Now()) || !*met {
			t.Errorf("the window ends at %v, want an instant after %v", until(c), time.Now())
		}
	})
}

// TestAssignRefused: a refusal ends an Assign at once, wherever it comes.
func TestAssignRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n        int
		op, name string
		conflict bool // after another process has made the note
	}{
		{n: 1, op: "list"},
		{n: 1, op: "now"},
		{n: 2, op: "now"},
		{n: 3, op: "now"},
		{n: 1, op: "put", name: lease.NotePrefix + "1"},
		{n: 1, op: "put", name: lease.SlotPrefix + "1"},
		{n: 1, op: "get", name: lease.HeaderName},
		{n: 1, op: "get", name: lease.NotePrefix + "1", conflict: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := timed{newAmbush()}
			assign(t, newAssigner(t, s, nil))
			met := s.once(tt.n, tt.op, tt.name, refused)
			if tt.conflict {
				s.once(1, "put", lease.NotePrefix+"1", conflict)
			}
			c, err := newAssigner(t, s, nil).Assign(t.Context(), maxWorker)
			if !errors.Is(err, lease.ErrRefused) || !*met {
				t.Errorf("%+v: Assign = %v, %v, want ErrRefused", tt, c, err)
			}
		})
	}
}

// TestNotedByOther: a worker id whose note another process made is that one's, also if this Assign sent
// a note of it too and does not know what became of that.
func TestNotedByOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		s.once(1, "put", lease.NotePrefix+"1", func(func() error) error {
			assign(t, newAssigner(t, s, nil))
			remove(s.memory, lease.SlotPrefix+"1") // or it is not made yet
			return errLost
		})
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 2 {
			t.Errorf("worker = %d, want 2", c.Worker())
		}
		// A note that is no text of this package's is one.
		put(s.memory, lease.NotePrefix+"3", "no JSON")
		s.once(1, "put", lease.NotePrefix+"4", func(func() error) error {
			put(s.memory, lease.NotePrefix+"4", "no JSON")
			return errLost
		})
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 5 {
			t.Errorf("worker = %d, want 5", c.Worker())
		}
	})
}

// TestNoteLost: a note whose answer is lost names its worker id, and no other one that has no slot.
func TestNoteLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		remove(s.memory, slot0)
		s.once(1, "put", lease.NotePrefix+"1", done)
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 {
			t.Errorf("worker = %d, want 1", c.Worker())
		}
	})
}

// TestLastNumberTaken: an Assign that loses the note of the last worker id to another process looks for a
// slot that is free by now.
func TestLastNumberTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		met := s.once(1, "put", lease.NotePrefix+"1", func(run func() error) error {
			give(t, s, 1, time.Now().Add(-time.Hour))
			return run()
		})
		if c, err := newAssigner(t, s, nil).Assign(t.Context(), 1); err != nil || c.Worker() != 1 || !*met {
			t.Errorf("Assign = %v, %v, want worker 1, which was given back", c, err)
		}
	})
}

// TestNumberCancelled: an Assign that loses every note to others ends with its ctx.
func TestNumberCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		s.around = func(op, name string, run func() error) error {
			if op == "put" {
				return lease.ErrConflict
			}
			return run()
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := newAssigner(t, s, nil).Assign(ctx, maxWorker)
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Millisecond {
			t.Errorf("Assign = %v after %v, want its ctx's error after 1ms", err, took)
		}
	})
}

// TestSentChanged: a slot with a token that an Assign sent is its own only as it sent it.
func TestSentChanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		s.once(1, "put", slot0, func(run func() error) error {
			err := done(run)
			s.edit(slot0, `"gen":1`, `"gen":5`)
			return err
		})
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 {
			t.Errorf("worker = %d, want 1", c.Worker())
		}
	})
}

// TestSlotSentTwice: an Assign whose new slot was in conflict with its own write has that slot.
func TestSlotSentTwice(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	assign(t, newAssigner(t, s, nil))
	met := s.once(1, "put", lease.SlotPrefix+"1", doubled)
	if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 || !*met {
		t.Errorf("worker = %d, want 1", c.Worker())
	}
}

// TestConfirmKept: an Assign that has its slot and cannot read the header yet does not look again.
func TestConfirmKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		lists := 0
		s.around = func(op, name string, run func() error) error {
			if op == "list" {
				lists++
			}
			return run()
		}
		s.once(2, "get", lease.HeaderName, notDone)
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 || lists != 1 {
			t.Errorf("worker %d after %d lists, want 1 after 1", c.Worker(), lists)
		}
	})
}

// TestRange: an Assign takes free slots and new worker ids of its range alone.
func TestRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		give(t, s, 5, time.Now().Add(-time.Hour))
		a := newAssigner(t, s, &lease.Options{First: 1, Last: 3})
		got := []int64{assign(t, a).Worker(), assign(t, a).Worker(), assign(t, a).Worker()}
		if slices.Sort(got); !slices.Equal(got, []int64{1, 2, 3}) {
			t.Errorf("workers = %v, want 1 to 3", got)
		}
		remove(s.memory, lease.SlotPrefix+"2")
		_, err := a.Assign(t.Context(), maxWorker)
		if want := "1 have no slot and are not given out again, all others of the worker ids 1 to 3 are reserved, " +
			"the first until 2000-01-01 00:20:00"; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Assign = %v, want %q", err, want)
		}
		remove(s.memory, lease.SlotPrefix+"1")
		put(s.memory, lease.SlotPrefix+"3", "unreadable")
		_, err = a.Assign(t.Context(), maxWorker)
		if want := "the worker ids 1 to 3 have been given out, and 1 of their slots are there"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("Assign = %v, want %q", err, want)
		}
		for _, tt := range []struct{ first, last, highest int64 }{{2, 0, 1}, {0, 0, -1}, {0, 3, 2}} {
			a := newAssigner(t, s, &lease.Options{First: tt.first, Last: tt.last})
			if c, err := a.Assign(t.Context(), tt.highest); !errors.Is(err, assigner.ErrWorkersExhausted) ||
				!strings.Contains(err.Error(), "the layout's highest") {
				t.Errorf("Assign in %+v = %v, %v, want ErrWorkersExhausted", tt, c, err)
			}
		}
	})
}

// TestFreeOrder: an Assign first tries any of the 128 slots that have been free for longest, and after a
// conflict any others without another check, in an order of its own, 8 in all.
func TestFreeOrder(t *testing.T) {
	t.Parallel()
	const candidates, tries, all, checks = 128, 8, 2048, 4
	s := newAmbush()
	assign(t, newAssigner(t, s, nil))
	s.edit(lease.HeaderName, `"used":[]`, fmt.Sprintf(`"used":[[0,%d]]`, all+1))
	for i := range all {
		put(s.memory, lease.SlotPrefix+fmt.Sprint(all-i),
			fmt.Sprintf(`{"v":1,"gen":1,"token":"%d","owner":"","until_ms":%d}`, i, 1000+i))
	}
	var tried []string
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lists := 0
	s.around = func(op, name string, run func() error) error {
		if op == "list" {
			if lists++; lists > checks {
				cancel()
			}
		}
		if op == "put" {
			tried = append(tried, name)
			return lease.ErrConflict
		}
		return run()
	}
	if c, err := newAssigner(t, s, nil).Assign(ctx, maxWorker*4); !errors.Is(err, context.Canceled) {
		t.Fatalf("Assign = %v, %v, want its ctx's error", c, err)
	}
	if len(tried) != checks*tries {
		t.Fatalf("%d tries in %d checks, want %d", len(tried), checks, checks*tries)
	}
	var first, rest []string
	for names := range slices.Chunk(tried, tries) {
		var worker int
		if _, err := fmt.Sscanf(names[0], lease.SlotPrefix+"%d", &worker); err != nil || worker <= all-candidates {
			t.Errorf("tried %s first, want one of the slots from %d on, which have been free for longest",
				names[0], all-candidates+1)
		}
		first, rest = append(first, names[0]), append(rest, names[1])
		if n := len(slices.Compact(slices.Sorted(slices.Values(names)))); n != tries {
			t.Errorf("%d slots in %v, want %d", n, names, tries)
		}
	}
	for _, names := range [][]string{first, rest} {
		if len(slices.Compact(names)) == 1 {
			t.Errorf("every check tries %s, want other orders", names[0])
		}
	}
}

// TestFreeShuffled: of a few slots that are free, each is tried once.
func TestFreeShuffled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		const free = 8
		give(t, s, free, time.Now().Add(-time.Hour))
		tried := map[string]bool{}
		s.around = func(op, name string, run func() error) error {
			if op == "put" && len(tried) < free {
				if tried[name] {
					t.Errorf("%s is tried twice", name)
				}
				tried[name] = true
				if len(tried) < free {
					return lease.ErrConflict
				}
			}
			return run()
		}
		if assign(t, newAssigner(t, s, nil)); len(tried) != free {
			t.Errorf("%d slots were tried, want %d", len(tried), free)
		}
	})
}

// TestConflictTime: the time is asked again after a conflict, and an Assign that cannot ask it does
// not go on with another.
func TestConflictTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		give(t, s.ambush, 2, time.Now().Add(-time.Hour))
		s.once(2, "now", "", notDone)
		puts := 0
		before := s.around
		s.around = func(op, name string, run func() error) error {
			if op == "put" {
				if puts++; puts == 1 {
					time.Sleep(10 * time.Minute)
					return lease.ErrConflict
				}
			}
			return before(op, name, run)
		}
		c := assign(t, newAssigner(t, s, nil))
		if whole := time.Now().Add(20*time.Minute - time.Second); until(c).Before(whole) || puts != 2 {
			t.Errorf("the window ends at %v after %d writes, want %v or later after 2", until(c), puts, whole)
		}
	})
}

// TestHeaderTogether: of two processes that make the header at once, the slower one goes on without a
// pause.
func TestHeaderTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		s.once(1, "put", lease.HeaderName, func(run func() error) error {
			assign(t, newAssigner(t, s, nil))
			return run()
		})
		start := time.Now()
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() == 0 || !time.Now().Equal(start) {
			t.Errorf("worker %d after %v, want another than 0 at once", c.Worker(), time.Since(start))
		}
	})
}

// TestClock: the claims of a store that tells the time tell it too, and those of another store do not.
func TestClock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		clock, ok := assign(t, newAssigner(t, s, nil)).(assigner.Clock)
		if !ok {
			t.Fatal("a claim on a store that tells the time does not")
		}
		s.once(1, "now", "", notDone)
		start := time.Now()
		if now, err := clock.Now(t.Context()); err != nil || now.Before(start) || now.After(time.Now()) {
			t.Errorf("Now = %v, %v, want %v", now, err, start)
		}
		if _, ok := assign(t, newAssigner(t, s.ambush, nil)).(assigner.Clock); ok {
			t.Error("a claim on a store without a clock tells the time")
		}
	})
}

// TestLayoutLong: a list of layouts is at most 2048 bytes long.
func TestLayoutLong(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	a := newAssigner(t, s, nil)
	if c, err := a.BindLayout(strings.Repeat("x", 2049)).Assign(t.Context(), maxWorker); err == nil ||
		!strings.Contains(err.Error(), "has 2049 bytes, want at most 2048") || s.calls != 0 {
		t.Errorf("Assign with a layout of 2049 bytes = %v, %v, with %d calls, want an error", c, err, s.calls)
	}
	assign(t, a.BindLayout(strings.Repeat("x", 2048)))
}

// TestLateTaken: an Assign whose window has passed before it read the header, and whose new slot
// another process has claimed since, takes the next worker id at once.
func TestLateTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		met := s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error {
			err := run()
			time.Sleep(2 * time.Second)
			if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 {
				t.Errorf("the other has worker %d, want 1", c.Worker())
			}
			return err
		})
		start := time.Now()
		c := assign(t, newAssigner(t, s, &lease.Options{Window: time.Second}))
		if took := time.Since(start); c.Worker() != 2 || took > 3*time.Second || !*met {
			t.Errorf("worker %d after %v, want 2 after 2 s", c.Worker(), took)
		}
	})
}

// TestLateExact: a window that has passed at the very instant of its confirmation is none.
func TestLateExact(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		met := s.once(2, "get", lease.HeaderName, func(run func() error) error {
			time.Sleep(time.Second)
			return run()
		})
		c := assign(t, newAssigner(t, s, &lease.Options{Window: time.Second}))
		if !until(c).After(time.Now()) || !*met {
			t.Errorf("at %v the window ends at %v, want later", time.Now(), until(c))
		}
	})
}

// TestLateSpare: an Assign whose window on a free slot has passed before it was confirmed keeps the new
// worker id that it got before.
func TestLateSpare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		held := assign(t, newAssigner(t, s, nil))
		s.once(1, "get", lease.HeaderName, func(func() error) error { // after the note
			if err := held.Release(t.Context(), time.Now()); err != nil {
				t.Error(err)
			}
			s.once(1, "put", slot0, func(run func() error) error {
				err := run()
				time.Sleep(2 * time.Second)
				return err
			})
			return errLost
		})
		a := newAssigner(t, s, &lease.Options{Window: time.Second})
		if one, two := assign(t, a).Worker(), assign(t, a).Worker(); one != 0 || two != 1 {
			t.Errorf("workers %d and %d, want 0, which was given back, and 1, which was left over", one, two)
		}
		if !s.has(lease.NotePrefix+"1") || s.has(lease.NotePrefix+"2") {
			t.Errorf("the entries are %v, want notes of the workers 0 and 1", s.entries)
		}
	})
}

// TestFirstToken: a slot without a fencing token, and without a token, is one like others.
func TestFirstToken(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "t"} {
		for _, first := range []int64{0, 1} {
			s := newAmbush()
			assign(t, newAssigner(t, s, nil))
			s.edit(lease.HeaderName, `"used":[]`, `"used":[[0,1]]`)
			put(s.memory, slot0, `{"v":1,"gen":0,"token":"`+token+`","owner":"","until_ms":0}`)
			c := assign(t, newAssigner(t, s, &lease.Options{First: first}))
			if c.Worker() != first || !from(c).IsZero() {
				t.Errorf("token %q: worker %d from %v, want %d from the beginning of time", token, c.Worker(),
					from(c), first)
			}
		}
	}
}

// TestMadeAndCut: a slot that an Assign has made and got no answer for keeps its end, although a layout
// was announced meanwhile that cuts the window.
func TestMadeAndCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		a := newAssigner(t, s, nil).BindLayout(layoutOld)
		assign(t, a)
		end, begin := time.Now().Add(20*time.Minute), time.Now().Add(10*time.Minute)
		s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error {
			headerIs(s.memory, layoutOld, layoutOld+"|"+beginning(begin))
			return done(run)
		})
		c := assign(t, a)
		r := recordOf(t, s.memory, slotOf(c))
		if c.Worker() != 1 || !until(c).Equal(begin) || r.Until < end.UnixMilli() {
			t.Errorf("the window of worker %d ends at %v and its slot is %+v, want worker 1, %v and %v", c.Worker(),
				until(c), r, begin, end)
		}
	})
}

// TestConflictUntold: an Assign that lost a free slot and is not told the time looks again.
func TestConflictUntold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		for range 3 {
			assign(t, newAssigner(t, s, nil))
		}
		time.Sleep(time.Hour) // all of them are free
		var seen []string     // from the loss on, up to another look
		s.around = func(op, name string, run func() error) error {
			switch n := len(seen); {
			case n == 0 && op == "put":
				seen = append(seen, op)
				return lease.ErrConflict
			case n > 0 && seen[n-1] != "list":
				seen = append(seen, op)
				if n == 1 {
					return errLost
				}
			}
			return run()
		}
		assign(t, newAssigner(t, s, nil))
		if want := []string{"put", "now", "list"}; !slices.Equal(seen, want) {
			t.Errorf("calls from the loss on = %q, want %q", seen, want)
		}
	})
}
