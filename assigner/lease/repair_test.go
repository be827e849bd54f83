package lease_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

// TestRepairUnanswered: a slot that was deleted stays missing, because its worker id is used, whichever
// call that tells so gets no answer at first.
func TestRepairUnanswered(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n        int
		op, name string
		numbered bool
	}{
		{1, "get", lease.HeaderName, false},
		{2, "now", "", false},
		{1, "get", lease.HeaderName, true},
		{1, "used", "", true},
	} {
		synctest.Test(t, func(t *testing.T) {
			plain, numbered := timed{newAmbush()}, newWatched(true)
			var s lease.Store = plain
			m, h := plain.memory, &plain.hook
			if tt.numbered {
				s, m, h = numbered, numbered.memory, numbered.hook
			}
			a := newAssigner(t, s, nil)
			c := assign(t, a)
			slot := slotOf(c)
			remove(m, slot)
			met := h.once(tt.n, tt.op, tt.name, notDone)
			begin := time.Now().Add(reach)
			_, err := c.Extend(t.Context(), until(c).Add(time.Hour))
			if !errors.Is(err, assigner.ErrWentBack) || !*met {
				t.Errorf("%+v: Extend = %v, want ErrWentBack", tt, err)
			}
			if e := m.entries[slot]; e.Version != "" {
				t.Errorf("%+v: the slot is %s, want none", tt, e.Value)
			}
			if c := assign(t, a); from(c).Before(begin) || from(c).After(begin.Add(time.Minute)) {
				t.Errorf("%+v: the next window begins at %v, want %v", tt, from(c), begin)
			}
		})
	}
}

// TestRepairRefused: a repair that cannot read the header proves nothing. The claim is not lost by it,
// and the error is the store's alone.
func TestRepairRefused(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"Extend", "Assign"} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			a, c := behind(t, s, s.memory, `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":5}`)
			try := func() (err error) {
				if by == "Extend" {
					_, err = c.Extend(t.Context(), until(c).Add(time.Hour))
				} else {
					_, err = a.Assign(t.Context(), maxWorker)
				}
				return err
			}
			s.once(1, "get", lease.HeaderName, refused)
			err := try()
			if !errors.Is(err, lease.ErrRefused) || strings.Contains(err.Error(), "repair") {
				t.Errorf("%s without the header = %v, want ErrRefused alone", by, err)
			}
			if err := try(); !errors.Is(err, assigner.ErrWentBack) || errors.Is(err, lease.ErrRefused) {
				t.Errorf("%s = %v, want ErrWentBack", by, err)
			}
		})
	}
}

// TestBehindForAMoment: a slot that is behind for a moment, as where a member of a cluster lags, is no
// evidence: neither by a change that was not answered by a conflict, nor by a repair that was not made.
func TestBehindForAMoment(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n      int // 1: the change, 2: the repair
		answer error
	}{{1, errLost}, {1, storekind.ErrRolledBack}, {2, storekind.ErrRolledBack}, {2, lease.ErrConflict}} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			c := assign(t, newAssigner(t, s, nil))
			extend(t, c, time.Millisecond)
			restore := s.backup()
			put(s.memory, slot0, `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":5}`)
			met := s.once(tt.n, "put", slot0, func(func() error) error {
				s.once(1, "get", slot0, func(run func() error) error { restore(); return run() })
				return tt.answer
			})
			extend(t, c, time.Hour)
			if r := recordOf(t, s.memory, slot0); r.FencingToken != 3 || r.Until != until(c).UnixMilli() || !*met {
				t.Errorf("%+v: the slot is %+v, want fencing token 3 and end %v", tt, r, until(c))
			}
		})
	}
}

// TestBelieved: a claim that has believed that its slot went back is lost, whatever the slot is when
// the answer to its repair is lost: as it was before, or another owner's. No slot is changed then, and
// the process claims it again once it is free.
func TestBelieved(t *testing.T) {
	t.Parallel()
	for _, others := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			a := newAssigner(t, s, nil)
			c := assign(t, a)
			extend(t, c, time.Millisecond)
			restore := s.backup()
			sound := func() {
				if restore(); others {
					s.edit(slot0, `"gen":2,"token":"`, `"gen":9,"token":"9`)
					s.edit(slot0, `"until_ms":`, `"until_ms":1`)
				}
			}
			put(s.memory, slot0, `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":5}`)
			s.once(2, "put", slot0, notDone)
			met := s.once(3, "put", slot0, func(run func() error) error { sound(); return run() })
			for range 2 {
				if _, err := c.Extend(t.Context(), until(c).Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
					t.Errorf("Extend = %v, want ErrWentBack", err)
				}
			}
			want := int64(2)
			if others {
				want = 9
			}
			if r := recordOf(t, s.memory, slot0); r.FencingToken != want || !*met {
				t.Errorf("the slot is %+v, want fencing token %d", r, want)
			}
			if !others {
				return
			}
			end := until(c).Add(time.Minute)
			s.edit(lease.HeaderName, `"used":[]`, `"used":[[0,1]]`)
			put(s.memory, slot0, strings.Replace(`{"v":1,"gen":10,"token":"t","owner":"","until_ms":END}`, "END",
				itoa(end.UnixMilli()), 1))
			time.Sleep(time.Hour)
			if c := assign(t, a); c.Worker() != 0 {
				t.Errorf("worker = %d, want 0, which is free", c.Worker())
			}
		})
	}
}

// TestOldSlot: a slot that a list shows behind is no evidence while there is no answer what it is, or
// one that cannot be read.
func TestOldSlot(t *testing.T) {
	t.Parallel()
	for _, spoiled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { testOldSlot(t, spoiled) })
	}
}

func testOldSlot(t *testing.T, spoiled bool) {
	s := newAmbush()
	a := newAssigner(t, s, nil)
	var old func()
	for range 2 {
		c := assign(t, a)
		if err := c.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		if old == nil {
			old = s.backup()
		}
	}
	now := s.backup()
	s.once(1, "list", "", func(run func() error) error {
		old()
		defer now()
		return run()
	})
	answer, want, generation := notDone, int64(0), int64(5)
	if spoiled {
		want, generation = 1, 1
		answer = func(run func() error) error {
			put(s.memory, slot0, `{"v":2,"gen":1,"token":"t","owner":"","until_ms":5}`)
			return run()
		}
	}
	met := s.once(1, "get", slot0, answer)
	c := assign(t, a)
	if r := recordOf(t, s.memory, slot0); c.Worker() != want || r.FencingToken != generation || !*met {
		t.Errorf("worker %d and slot %+v, want %d and fencing token %d", c.Worker(), r, want, generation)
	}
}

// TestRepairEnd: a repaired slot ends where it ended or later, not before the floor of a Restore, and
// not before what the process has found out of other slots.
func TestRepairEnd(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"the slot", "the floor", "another slot"} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			a := newAssigner(t, s, nil)
			c, other := assign(t, a), assign(t, a)
			extend(t, c, time.Millisecond)
			far := time.Now().Add(10 * reach)
			end := time.Unix(0, 0)
			switch by {
			case "the slot":
				end = far
			case "the floor":
				s.edit(lease.HeaderName, `"used"`, `"floor_ms":`+itoa(far.UnixMilli())+`,"used"`)
			default:
				extend(t, other, 10*reach)
				far = until(other)
				remove(s.memory, slotOf(other))
				if _, err := other.Extend(t.Context(), far.Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
					t.Errorf("Extend of the other claim = %v, want ErrWentBack", err)
				}
			}
			put(s.memory, slot0, `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":`+itoa(end.UnixMilli())+`}`)
			if _, err := c.Extend(t.Context(), until(c).Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
				t.Errorf("%s: Extend = %v, want ErrWentBack", by, err)
			}
			if r := recordOf(t, s.memory, slot0); r.FencingToken != 3 || r.Until != far.UnixMilli() {
				t.Errorf("%s: the slot is %+v, want fencing token 3 and end %d", by, r, far.UnixMilli())
			}
		})
	}
}

// TestFoundFirst: the error of a slot that went back says what it was when that was believed, although
// it is another one when the repair is made.
func TestFoundFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		_, c := behind(t, s, s.memory, `{"v":1,"gen":1,"token":"t","owner":"x","until_ms":5}`)
		met := s.once(2, "put", slot0, func(func() error) error {
			put(s.memory, slot0, `{"v":1,"gen":1,"token":"t","owner":"y","until_ms":5}`)
			return errLost
		})
		_, err := c.Extend(t.Context(), until(c).Add(time.Hour))
		if !errors.Is(err, assigner.ErrWentBack) || !strings.Contains(err.Error(), `of owner "x"`) || !*met {
			t.Errorf("Extend = %v, want ErrWentBack of the owner x", err)
		}
		if r := recordOf(t, s.memory, slot0); r.FencingToken != 3 || r.Owner != "" {
			t.Errorf("the slot is %+v, want fencing token 3 and no owner", r)
		}
	})
}

// TestRepairUntold: a repair waits until the store tells the time: its end is that much later.
func TestRepairUntold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		c := assign(t, newAssigner(t, s, nil))
		restore := s.backup()
		extend(t, c, time.Minute)
		restore()
		s.once(2, "now", "", notDone)
		least := time.Now().Add(24 * time.Hour).UnixMilli()
		if _, err := c.Extend(t.Context(), time.Now().Add(time.Hour)); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Extend = %v, want ErrWentBack", err)
		}
		if end := recordOf(t, s.memory, slot0).Until; end < least {
			t.Errorf("the slot ends at %d, want %d or later", end, least)
		}
	})
}
