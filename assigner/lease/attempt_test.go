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

// watched is an indexed with a hook around its calls.
type watched struct {
	indexed
	*hook
}

func newWatched(own bool) watched { return watched{newIndexed(0, own), &hook{}} }

func (w watched) Now(ctx context.Context) (now time.Time, err error) {
	err = w.through("now", "", func() (err error) { now, err = w.indexed.Now(ctx); return err })
	return now, err
}

func (w watched) Get(ctx context.Context, name string) (e lease.Entry, err error) {
	err = w.through("get", name, func() (err error) { e, err = w.indexed.Get(ctx, name); return err })
	return e, err
}

func (w watched) Put(ctx context.Context, old lease.Entry, value []byte) (e lease.Entry, err error) {
	ctx = context.WithoutCancel(ctx) // a hook may make the change later
	err = w.through("put", old.Name, func() (err error) { e, err = w.indexed.Put(ctx, old, value); return err })
	return e, err
}

func (w watched) Look(ctx context.Context, q lease.Query) (h lease.Entry, slots []lease.Entry, err error) {
	err = w.through("look", "", func() (err error) { h, slots, err = w.indexed.Look(ctx, q); return err })
	return h, slots, err
}

func (w watched) Shows(ctx context.Context, name, token string) (shown bool, err error) {
	err = w.through("shows", "", func() (err error) { shown, err = w.indexed.Shows(ctx, name, token); return err })
	return shown, err
}

func (w watched) Used(ctx context.Context, worker int64) (used bool, err error) {
	err = w.through("used", "", func() (err error) { used, err = w.indexed.Used(ctx, worker); return err })
	return used, err
}

// free makes a header and n slots that were given back long ago.
func (w watched) free(t *testing.T, n int) {
	t.Helper()
	for range n {
		assign(t, newAssigner(t, w, nil))
	}
	for i := range n {
		put(w.memory, lease.SlotPrefix+fmt.Sprint(i), fmt.Sprintf(`{"v":1,"gen":2,"token":"%d","until_ms":%d}`, i, 1+i))
	}
}

// TestAttempt: with an index an Assign reads back each change of a slot that got no answer, once. One
// that was made is its claim, whatever answers the search for it gets, and no other slot is changed.
func TestAttempt(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		lost       int // how many changes of slots get no answer
		answer     func(run func() error) error
		op         string // the call that gets no answer after it
		generation int64  // of the slot in the end
		gets       int    // of slots
		shows      int
	}{
		{"made", 1, done, "get", 4, 2, 0},
		{"not made", 3, notDone, "look", 3, 3, 0},
		{"made, busy", 1, func(run func() error) error { return errors.Join(run(), lease.ErrBusy) }, "shows", 4, 1, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newWatched(false)
				s.free(t, 2)
				lost, gets, shows, failed := tt.lost, 0, 0, false
				s.around = func(op, name string, run func() error) error {
					slot := strings.HasPrefix(name, lease.SlotPrefix)
					if op == "get" && slot {
						gets++
					}
					if op == "shows" {
						shows++
					}
					if op == "put" && slot && lost > 0 {
						lost--
						return tt.answer(run)
					}
					if op == tt.op && (slot || op != "get") && lost < tt.lost && !failed {
						failed = true
						return errLost
					}
					return run()
				}
				c := assign(t, newAssigner(t, s, nil))
				mine := recordOf(t, s.memory, lease.SlotPrefix+fmt.Sprint(c.Worker()))
				other := recordOf(t, s.memory, lease.SlotPrefix+fmt.Sprint(1-c.Worker()))
				if mine.FencingToken != tt.generation || other.FencingToken != 2 {
					t.Errorf("the slots are %+v, want fencing token %d, and %+v, want 2", mine, tt.generation, other)
				}
				if gets != tt.gets || shows != tt.shows || !failed {
					t.Errorf("%d reads of slots and %d of tokens, want %d and %d", gets, shows, tt.gets, tt.shows)
				}
			})
		})
	}
}

// TestAttemptSpoiled: a slot that cannot be read any more is none that an Assign has made.
func TestAttemptSpoiled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newWatched(false)
		s.free(t, 1)
		var text string
		s.once(1, "put", slot0, func(run func() error) error {
			err := done(run)
			s.edit(slot0, `"v":1`, `"v":2`)
			text = string(s.entries[slot0].Value)
			return err
		})
		if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 1 || string(s.entries[slot0].Value) != text {
			t.Errorf("worker %d and slot %s, want 1 and %s", c.Worker(), s.entries[slot0].Value, text)
		}
	})
}

// TestAttemptBusy: a slot that another session holds is left alone while there is another worker id.
// Where there is none, a change of it is found whenever it is made, and not waited for.
func TestAttemptBusy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newWatched(false)
		s.free(t, 1)
		var log bytes.Buffer
		o := &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		s.once(1, "put", slot0, func(func() error) error { return lease.ErrBusy })
		if c := assign(t, newAssigner(t, s, o)); c.Worker() != 1 {
			t.Errorf("worker = %d, want a new one, 1", c.Worker())
		}
		var late func() error
		s.once(1, "put", slot0, func(run func() error) error { late = run; return lease.ErrBusy })
		s.once(2, "shows", "", func(run func() error) error { return errors.Join(late(), run()) })
		gets := s.once(1, "get", slot0, func(run func() error) error {
			if r := recordOf(t, s.memory, slot0); r.FencingToken != 3 {
				t.Errorf("the slot is read while it is %+v, want fencing token 3", r)
			}
			return run()
		})
		c, err := newAssigner(t, s, o).Assign(t.Context(), 1)
		if err != nil || c.Worker() != 0 || !*gets {
			t.Errorf("Assign = %v, %v, want worker 0", c, err)
		}
		if r := recordOf(t, s.memory, slot0); r.FencingToken != 4 {
			t.Errorf("the slot is %+v, want fencing token 4", r)
		}
		if log.Len() > 0 {
			t.Errorf("the log is %q, want nothing", &log)
		}
	})
}

// endless is a watched whose every search shows the same slots.
type endless struct {
	watched
	skips *[]int // what the searches leave out
}

func (s endless) Look(ctx context.Context, q lease.Query) (lease.Entry, []lease.Entry, error) {
	*s.skips = append(*s.skips, q.Skip)
	q.Skip = 0
	return s.watched.Look(ctx, q)
}

// TestCrowd: an Assign to which others are faster tries 8 slots of each search, the next of which
// leaves a random number of slots out, of which the bound doubles. It makes no other call meanwhile,
// and logs nothing.
func TestCrowd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := endless{newWatched(false), &[]int{}}
		s.free(t, 20)
		*s.skips = nil
		const searches, tries = 14, 8
		var calls []string
		s.around = func(op, name string, run func() error) error {
			if n := len(*s.skips); n <= searches {
				calls = append(calls, op)
				if op == "put" {
					return lease.ErrConflict
				}
			}
			return run()
		}
		var log bytes.Buffer
		o := &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}
		if c := assign(t, newAssigner(t, s, o)); c.Worker() >= 20 || log.Len() > 0 {
			t.Errorf("worker = %d, want a free one, and the log is %q", c.Worker(), &log)
		}
		want := slices.Repeat(append([]string{"look"}, slices.Repeat([]string{"put"}, tries)...), searches)
		if !slices.Equal(calls, want) {
			t.Errorf("the calls are %v, want %v", calls, want)
		}
		for i, n := range *s.skips {
			if bound := 128 << max(0, i-1); n >= bound || i == 0 && n > 0 {
				t.Errorf("search %d leaves out %d slots, want less than %d", i, n, bound)
			}
		}
		if most := slices.Max(*s.skips); most < 128 {
			t.Errorf("at most %d slots are left out, want more", most)
		}
	})
}

// unnumbered is an Index that is no Numberer, and names no header.
type unnumbered struct{ lease.Index }

func (s unnumbered) Look(ctx context.Context, q lease.Query) (lease.Entry, []lease.Entry, error) {
	h, slots, err := s.Index.Look(ctx, q)
	h.Name = ""
	return h, slots, err
}

// TestUnnumbered: in an Index that is no Numberer a start finds a worker id without a note by trying.
func TestUnnumbered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, start := newIndexed(0, false), time.Now()
		workers := map[int64]bool{}
		for range 8 {
			c, err := newAssigner(t, unnumbered{s}, nil).Assign(t.Context(), 7)
			if err != nil || workers[c.Worker()] || !time.Now().Equal(start) {
				t.Fatalf("Assign = %v, %v after %v, want a worker id apart from %v, at once", c, err,
					time.Since(start), workers)
			}
			workers[c.Worker()] = true
		}
		if c, err := newAssigner(t, unnumbered{s}, nil).Assign(t.Context(), 7); !errors.Is(err,
			assigner.ErrWorkersExhausted) {
			t.Errorf("Assign = %v, %v, want ErrWorkersExhausted", c, err)
		}
	})
}

// TestAttemptsBusy: of two changes that wait for other sessions each is looked for.
func TestAttemptsBusy(t *testing.T) {
	t.Parallel()
	waited := false
	for range 20 { // they are tried, and looked for, in any order
		synctest.Test(t, func(t *testing.T) {
			s := newWatched(false)
			s.free(t, 2)
			// The second one is made late, before both are looked for.
			first := s.perhaps(1, "put", slot0, func(func() error) error { return lease.ErrBusy })
			s.once(1, "put", lease.SlotPrefix+"1", func(run func() error) error {
				s.once(1, "shows", "", func(shows func() error) error { return errors.Join(run(), shows()) })
				return lease.ErrBusy
			})
			c, err := newAssigner(t, s, nil).Assign(t.Context(), 1)
			if err != nil || c.Worker() != 1 {
				t.Errorf("Assign = %v, %v, want worker 1", c, err)
			}
			waited = waited || *first
		})
	}
	if !waited {
		t.Error("no Assign has tried both slots")
	}
}
