package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// noting is an Index and a Numberer that notes what it is asked for.
type noting struct {
	indexed
	asked  *[]string
	number func() error  // comes before each Number; nil: nothing does
	untold bool          // Get does not tell the time
	shown  []lease.Entry // the slots that the next Look shows; empty: those that there are
}

func newNoting(own bool) *noting { return &noting{indexed: newIndexed(0, own), asked: &[]string{}} }

func (w *noting) note(format string, args ...any) {
	w.set(func() { *w.asked = append(*w.asked, fmt.Sprintf(format, args...)) })
}

func (w *noting) Look(ctx context.Context, q lease.Query) (lease.Entry, []lease.Entry, error) {
	w.note("look %d-%d, %d after %d", q.First, q.Last, q.Limit, q.Skip)
	h, slots, err := w.indexed.Look(ctx, q)
	if len(w.shown) > 0 {
		slots, w.shown = w.shown, nil
	}
	return h, slots, err
}

func (w *noting) Get(ctx context.Context, name string) (lease.Entry, error) {
	e, err := w.indexed.Get(ctx, name)
	if w.untold {
		e.At = time.Time{}
	}
	return e, err
}

func (w *noting) Number(ctx context.Context, first, last int64, n int) ([]int64, bool, error) {
	w.note("number %d-%d, %d", first, last, n)
	if w.number != nil {
		if err := w.number(); err != nil {
			return nil, false, err
		}
	}
	return w.indexed.Number(ctx, first, last, n)
}

func (w *noting) Owns(ctx context.Context, worker int64) (bool, error) {
	w.note("owns %d", worker)
	return w.indexed.Owns(ctx, worker)
}

// answers has the first calls that put a slot fail with errs, one after another, undone.
func (w *noting) answers(errs ...error) {
	w.fault = func(op, name string) (bool, error) {
		if op != "put" || !strings.HasPrefix(name, lease.SlotPrefix) || len(errs) == 0 {
			return true, nil
		}
		err := errs[0]
		errs = errs[1:]
		return false, err
	}
}

// TestUnusedAmong: from among how many new worker ids a start takes one grows with its losses, and is
// forgotten with the Assign. After some losses it looks again before it asks for more.
func TestUnusedAmong(t *testing.T) {
	t.Parallel()
	const look = "look 0-1023, 128 after 0"
	lost := slices.Repeat([]error{lease.ErrConflict}, 8)
	for name, tt := range map[string]struct {
		errs []error
		last int64
		want []string
	}{
		"none":         {nil, 1023, []string{"number 0-1023, 256"}},
		"two":          {append(lost[:2:2], errLost), 1023, []string{"number 0-1023, 256", "number 0-1023, 512"}},
		"a whole turn": {lost, 1023, []string{"number 0-1023, 256", "number 0-1023, 996"}},
		"few left":     {lost, 99, []string{"number 0-99, 256", "number 0-99, 372"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newNoting(false)
			s.answers(tt.errs...)
			var log bytes.Buffer
			a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			if _, err := a.Assign(t.Context(), tt.last); err != nil {
				t.Fatal(err)
			}
			var numbers []string
			for i, asked := range *s.asked {
				if strings.HasPrefix(asked, "number") {
					numbers = append(numbers, asked)
					if !strings.HasPrefix((*s.asked)[i-1], "look") {
						t.Errorf("%s: it is asked %q without a look before", name, *s.asked)
					}
				}
			}
			if !slices.Equal(numbers, tt.want) || strings.Contains(log.String(), "left alone") {
				t.Errorf("%s: it is asked %q, want %q; the log is %q", name, numbers, tt.want, &log)
			}
			was := len(*s.asked)
			s.fault = nil
			assign(t, a)
			if got := (*s.asked)[was:]; !slices.Equal(got, []string{look, "number 0-1023, 256"}) {
				t.Errorf("%s: the next Assign asks %q, want it to begin anew", name, got)
			}
		})
	}
}

// TestUnusedFewer: where fewer worker ids are left than there were, the start takes one of those.
func TestUnusedFewer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNoting(false)
		s.answers(slices.Repeat([]error{lease.ErrConflict}, 8)...)
		turns := 0
		s.number = func() error {
			if turns++; turns == 2 {
				for i := range 99 {
					put(s.memory, fmt.Sprintf("slot-%d", i), `{"v":1,"gen":1,"token":"1","owner":"x","until_ms":9e15}`)
				}
			}
			return nil
		}
		if c, err := newAssigner(t, s, nil).Assign(t.Context(), 99); err != nil || c.Worker() != 99 {
			t.Errorf("Assign = %v, %v, want worker 99", c, err)
		}
	})
}

// TestUnusedCrowd: a start that has met others at the header takes one of several from the beginning.
func TestUnusedCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNoting(false)
		s.answers(lease.ErrConflict, errLost)
		slots, headers := s.fault, 0
		s.fault = func(op, name string) (bool, error) {
			if op == "put" && name == lease.HeaderName {
				if headers++; headers == 1 {
					return false, lease.ErrConflict
				}
			}
			return slots(op, name)
		}
		assign(t, newAssigner(t, s, nil))
		if want := "number 0-1023, 512"; !slices.Contains(*s.asked, want) {
			t.Errorf("it is asked %q, want %q", *s.asked, want)
		}
	})
}

// TestUnusedBusy: a new worker id whose slot another session holds is left out for one turn.
func TestUnusedBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNoting(false)
		s.answers(lease.ErrBusy)
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 {
			t.Errorf("worker %d, want 1", c.Worker())
		}
	})
	// Where there is no other slot, it is tried again.
	synctest.Test(t, func(t *testing.T) {
		full := newNoting(false)
		full.number = func() error {
			if full.has(slot0) {
				return assigner.ErrWorkersExhausted
			}
			return nil
		}
		for _, s := range []lease.Store{full, newAmbush()} {
			a := newAssigner(t, s, nil)
			c, err := a.Assign(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Release(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			switch s := s.(type) {
			case *noting:
				s.answers(lease.ErrBusy)
			case *ambush:
				s.once(1, "put", slot0, func(func() error) error { return lease.ErrBusy })
			}
			ctx, cancel := contextFor(t, time.Minute)
			defer cancel()
			if _, err := a.Assign(ctx, 0); err != nil {
				t.Errorf("%T: Assign = %v, want the slot", s, err)
			}
		}
	})
}

// TestUnusedCalls: a call that is refused while a new worker id is come by ends the Assign, without a slot.
func TestUnusedCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNoting(false)
		header := false
		s.number = func() error { header = true; return nil }
		s.fault = func(op, name string) (bool, error) {
			if op == "get" && name == lease.HeaderName && header {
				header = false
				return false, lease.ErrRefused
			}
			return true, nil
		}
		c, err := newAssigner(t, s, nil).Assign(t.Context(), 9)
		if !errors.Is(err, lease.ErrRefused) || s.has(slot0) {
			t.Errorf("Assign = %v, %v, and a slot: %v, want ErrRefused and none", c, err, s.has(slot0))
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		if _, err := newAssigner(t, s, nil).Assign(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		s.once(2, "now", "", refused) // the first is to find free slots
		if c, err := newAssigner(t, s, nil).Assign(t.Context(), 0); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Assign without the time = %v, %v, want ErrRefused", c, err)
		}
	})
}

// TestUnusedHeader: a new worker id is used up for the header as it is after the worker id was told.
func TestUnusedHeader(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) string {
		return moveOne + ",28-22-13-0/1s@" + time.Now().Add(d).UTC().Format(time.RFC3339Nano)
	}
	for name, tt := range map[string]struct {
		layouts func() (have, want string) // what the header has then, and what the claim names
		none    bool                       // no header
		err     error
	}{
		"gone":         {func() (string, string) { return moveOne, moveOne }, true, nil},
		"taken back":   {func() (string, string) { return moveOne, at(time.Hour) }, false, nil},
		"to be cut":    {func() (string, string) { return at(time.Millisecond), moveOne }, false, nil},
		"begins":       {func() (string, string) { return at(0), moveOne }, false, assigner.ErrSuperseded},
		"began before": {func() (string, string) { return at(-time.Second), moveOne }, false, assigner.ErrSuperseded},
		"nobody knows": {func() (string, string) { return at(-time.Second), moveOne }, false, lease.ErrRefused},
	} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Hour)
			s := newNoting(false)
			have, want := tt.layouts()
			calls := 0
			s.number = func() error {
				if calls++; calls > 1 {
					return nil
				}
				if s.edit(lease.HeaderName, want, have); tt.none {
					remove(s.memory, lease.HeaderName)
				}
				return nil
			}
			s.untold = tt.err == lease.ErrRefused
			s.fault = func(op, _ string) (bool, error) {
				if op == "now" {
					return false, lease.ErrRefused
				}
				return true, nil
			}
			_, err := newAssigner(t, s, nil).BindLayout(want).Assign(t.Context(), 9)
			if !errors.Is(err, tt.err) || s.has(slot0) != (tt.err == nil) {
				t.Errorf("%s: Assign = %v, and a slot: %v, want %v", name, err, s.has(slot0), tt.err)
			}
			if name == "taken back" {
				layoutIs(t, s.memory, want)
			}
		})
	}
}

// TestUnusedFloor: the window of a worker id that is not own yet begins at the floor of new ones.
func TestUnusedFloor(t *testing.T) {
	t.Parallel()
	s := newNoting(false)
	if err := assign(t, newAssigner(t, s, nil)).Release(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	s.edit(lease.HeaderName, `"universe"`, `"counted_ms":`+itoa(time.Now().Add(time.Hour).UnixMilli())+`,"universe"`)
	if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 || !from(c).IsZero() {
		t.Errorf("worker %d from %v, want 1 from the beginning of time", c.Worker(), from(c))
	}
	if used := recordOf(t, s.memory, lease.HeaderName).Used; len(used) > 0 {
		t.Errorf("the header lists %v as used, want none: the store knows", used)
	}
}

// TestUnusedOwn: a worker id of its own that is left over is used only if it still is, up to the last of
// the range.
func TestUnusedOwn(t *testing.T) {
	t.Parallel()
	for counter, want := range map[int64]int64{5: 5, 1: 2} {
		synctest.Test(t, func(t *testing.T) {
			s := newNoting(true)
			s.counter.Store(4)
			a := newAssigner(t, s, nil)
			refuse := func(refused string, err error, times int) {
				s.fault = func(op, _ string) (bool, error) {
					if times--; op != refused || times < 0 {
						times++
						return true, nil
					}
					return false, err
				}
			}
			put(s.memory, lease.HeaderName, `{"v":1,"token":"1","layout":"","used":[],"universe":"1"}`)
			for _, op := range []string{"put", "owns"} {
				refuse(op, lease.ErrRefused, 1)
				if c, err := a.Assign(t.Context(), 5); !errors.Is(err, lease.ErrRefused) {
					t.Errorf("Assign with %s refused = %v, %v, want ErrRefused", op, c, err)
				}
			}
			s.counter.Store(counter)
			refuse("number", errLost, 1)
			*s.asked = nil
			if c, err := a.Assign(t.Context(), 5); err != nil || c.Worker() != want {
				t.Errorf("Assign after the count went to %d = %v, %v, want worker %d", counter, c, err, want)
			}
			if n := strings.Count(strings.Join(*s.asked, "\n"), "owns"); n != 1 {
				t.Errorf("it is asked %q, want once whose it is", *s.asked)
			}
		})
	}
}

// TestUnusedExhausted: an Assign that finds no worker id says what the store says, and when the first one
// is free, by the time of the look.
func TestUnusedExhausted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, says := range []string{"", "the counter is at its end"} {
			full := newNoting(false)
			var s lease.Store = full
			if says == "" {
				s = full.memory // which is neither an Index nor a Numberer
			}
			first := assign(t, newAssigner(t, s, nil))
			assign(t, newAssigner(t, s, &lease.Options{Window: time.Hour}))
			full.number = func() error { return fmt.Errorf("%w: %s", assigner.ErrWorkersExhausted, says) }
			full.fault = func(op, _ string) (bool, error) {
				if op == "now" {
					return false, lease.ErrRefused
				}
				return true, nil
			}
			_, err := newAssigner(t, s, nil).Assign(t.Context(), 1)
			want := fmt.Sprintf("the first until %v", until(first))
			if !errors.Is(err, assigner.ErrWorkersExhausted) || !strings.Contains(err.Error(), want) ||
				!strings.Contains(err.Error(), says) {
				t.Errorf("Assign = %v, want %q and what the store says", err, want)
			}
		}
	})
}

// TestForgottenUsed: nothing is claimed where a slot is of another universe than the header, until
// Restore has run: the header was made anew. A header that is newer than what was listed counts.
func TestForgottenUsed(t *testing.T) {
	t.Parallel()
	s := newAmbush()
	for range 2 {
		assign(t, newAssigner(t, s, nil))
	}
	own := recordOf(t, s.memory, lease.HeaderName).Universe
	s.edit(lease.HeaderName, own, "17")
	s.once(1, "get", lease.HeaderName, notDone)
	unread := s.around
	s.around = func(op, name string, run func() error) error {
		err := run()
		if op == "list" {
			s.edit(lease.HeaderName, `"17"`, `"`+own+`"`)
		}
		if op == "get" {
			return unread(op, name, run)
		}
		return err
	}
	if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 2 {
		t.Errorf("worker %d, want 2", c.Worker())
	}
	s.around = nil
	s.edit(lease.SlotPrefix+"1", own, "17")
	a := newAssigner(t, s, nil)
	if c, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) ||
		!strings.Contains(err.Error(), "the slot of worker 1 until") {
		t.Errorf("Assign = %v, %v, want ErrWentBack for worker 1", c, err)
	}
	if err := a.Restore(t.Context(), 2, time.Hour, ""); err != nil {
		t.Fatal(err)
	}
	put(s.memory, lease.SlotPrefix+"3", "no slot")
	if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 4 {
		t.Errorf("worker %d after Restore, want 4, as the entry of 3 is no slot", c.Worker())
	}
}

// TestNoteUnanswered: a start whose note got no answer goes on with the worker id if the note is its
// own, and takes another one if it is not there, or another process's.
func TestNoteUnanswered(t *testing.T) {
	t.Parallel()
	const note = lease.NotePrefix + "0"
	for name, tt := range map[string]struct {
		answer func(s *ambush) func(run func() error) error
		worker int64
	}{
		"made":     {func(*ambush) func(func() error) error { return done }, 0},
		"not made": {func(*ambush) func(func() error) error { return notDone }, 0},
		"another's": {func(s *ambush) func(func() error) error {
			return func(func() error) error {
				put(s.memory, note, `{"v":1,"token":"7"}`)
				return errLost
			}
		}, 1},
		"no answer to the read": {func(s *ambush) func(func() error) error {
			s.once(1, "get", note, notDone)
			return done
		}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			met := s.once(1, "put", note, tt.answer(s))
			c := assign(t, newAssigner(t, s, nil))
			if !*met || c.Worker() != tt.worker {
				t.Errorf("%s: worker %d, want %d", name, c.Worker(), tt.worker)
			}
			if next := assign(t, newAssigner(t, s, nil)); next.Worker() != tt.worker+1 {
				t.Errorf("%s: the next worker is %d, want %d", name, next.Worker(), tt.worker+1)
			}
		})
	}
}

// TestNoteStays: a worker id whose slot was deleted is not given out again, and where no other is left
// the start says so.
func TestNoteStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		for range 2 {
			assign(t, newAssigner(t, s, nil))
		}
		remove(s.memory, slot0)
		if c, err := newAssigner(t, s, nil).Assign(t.Context(), 2); err != nil || c.Worker() != 2 {
			t.Errorf("Assign = %v, %v, want worker 2", c, err)
		}
		c, err := newAssigner(t, s, nil).Assign(t.Context(), 2)
		if !errors.Is(err, assigner.ErrWorkersExhausted) {
			t.Errorf("Assign = %v, %v, want ErrWorkersExhausted", c, err)
		}
	})
}

// TestLeftAloneUnknown: an index that lags, and shows a slot behind what the process knows, is no new
// worker id that has a slot.
func TestLeftAloneUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(time.Second, false)
		var log bytes.Buffer
		a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 2 {
			c := assign(t, a)
			if err := c.Release(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
		}
		c := assign(t, a) // which the index does not show
		if err := c.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		assign(t, a)
		if log.Len() > 0 {
			t.Errorf("the log is %q, want nothing", &log)
		}
	})
}

// TestUnusedKept: an index that shows another slot as it was does not cost a start its new worker id.
func TestUnusedKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newNoting(true)
		var log bytes.Buffer
		a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err := assign(t, a).Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		_, old, _ := s.Look(t.Context(), lease.Query{Last: 9, Limit: 1})
		assign(t, a) // the same worker id
		s.answers(lease.ErrRefused)
		if c, err := a.Assign(t.Context(), 9); !errors.Is(err, lease.ErrRefused) {
			t.Fatal(c, err)
		}
		s.shown = old
		if c := assign(t, a); c.Worker() != 2 || log.Len() > 0 || len(s.shown) > 0 {
			t.Errorf("worker %d, want 2, which was left over; the log is %q", c.Worker(), &log)
		}
	})
}

// TestSkip: a start that loses the slots in front leaves some out, and where that are all, begins again
// with the first.
func TestSkip(t *testing.T) {
	t.Parallel()
	for _, lost := range []int{1, 14} {
		synctest.Test(t, func(t *testing.T) {
			s := newNoting(false)
			o := &lease.Options{First: 3, Last: 3}
			if err := assign(t, newAssigner(t, s, o)).Release(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
			*s.asked = nil
			s.answers(slices.Repeat([]error{lease.ErrConflict}, lost)...)
			assign(t, newAssigner(t, s, o))
			const first = "look 3-3, 128 after 0"
			before := ""
			for i, asked := range *s.asked {
				var skip int
				n, err := fmt.Sscanf(asked, "look 3-3, 128 after %d", &skip)
				switch {
				case n != 1 || err != nil || skip >= 1024:
					t.Errorf("call %d is %q, want a look after few", i+1, asked)
				case (i == 0 || before != "" && before != first) && asked != first:
					t.Errorf("call %d is %q after %q, want %q", i+1, asked, before, first)
				}
				before = asked
			}
			if before != first {
				t.Errorf("the last call is %q, want %q", before, first)
			}
		})
	}
	// An error of the look that leaves some out is no empty answer.
	synctest.Test(t, func(t *testing.T) {
		s := newNoting(false)
		if err := assign(t, newAssigner(t, s, nil)).Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		s.answers(lease.ErrConflict)
		slots, looks := s.fault, 0
		s.fault = func(op, name string) (bool, error) {
			if op == "look" {
				if looks++; looks == 2 {
					return false, lease.ErrRefused
				}
			}
			return slots(op, name)
		}
		if c, err := newAssigner(t, s, nil).Assign(t.Context(), 0); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Assign = %v, %v, want ErrRefused", c, err)
		}
	})
	// Without a slot that is free one look is enough.
	synctest.Test(t, func(t *testing.T) {
		s := newNoting(false)
		assign(t, newAssigner(t, s, nil))
		*s.asked = nil
		assign(t, newAssigner(t, s, nil))
		if n := strings.Count(strings.Join(*s.asked, "\n"), "look"); n != 1 {
			t.Errorf("it is asked %q, want one look", *s.asked)
		}
	})
}

// TestFreeAhead: a slot that ends up to a minute ahead of the local clock is better than a new worker id.
func TestFreeAhead(t *testing.T) {
	t.Parallel()
	for worker, ahead := range []time.Duration{time.Minute, time.Minute + time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := told{&memory{}, &clock{}}
			if err := assign(t, newAssigner(t, s, nil)).Release(t.Context(), time.Now().Add(ahead)); err != nil {
				t.Fatal(err)
			}
			s.clock.step(time.Hour)
			if c := assign(t, newAssigner(t, s, nil)); c.Worker() != int64(worker) {
				t.Errorf("ahead by %v: worker %d, want %d", ahead, c.Worker(), worker)
			}
		})
	}
}

// TestLookMoved: an Assign that gets no list of a store that it has seen sealed says so.
func TestLookMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from := newAmbush()
		a := bound(t, from, moveOne, nil)
		mustAssign(t, a)
		mustMove(t, from, named{&memory{}, "new"})
		if _, err := a.Assign(t.Context(), 7); !errors.Is(err, assigner.ErrMoved) {
			t.Fatal(err)
		}
		from.once(1, "list", "", refused)
		if _, err := a.Assign(t.Context(), 7); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Assign without a list = %v, want ErrRefused", err)
		}
	})
}
