package lease_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/assignertest"
	"github.com/uidring/uidring/assigner/lease"
)

// indexed is a memory that is an Index and a Numberer with a clock. Its list, its index and its
// numbers are those of a moment ago, if lag is set.
type indexed struct {
	*memory
	clock   *clock
	lag     time.Duration
	counter *atomic.Int64 // of worker ids that are own, from 1 on; nil: the lowest without a slot
	past    *[]past       // guarded by the memory's mu
	lists   *atomic.Int64
}

// past is what the entries were from an instant on.
type past struct {
	from    time.Time
	entries map[string]lease.Entry
}

func newIndexed(lag time.Duration, own bool) indexed {
	s := indexed{memory: &memory{}, clock: &clock{}, lag: lag, past: &[]past{}, lists: &atomic.Int64{}}
	if own {
		s.counter = &atomic.Int64{}
	}
	return s
}

func (s indexed) Now(ctx context.Context) (now time.Time, err error) {
	s.set(func() { _, err = s.call(ctx, "now", "") })
	return s.clock.now(), err
}

// at returns e as it is read now.
func (s indexed) at(e lease.Entry) lease.Entry {
	e.At = s.clock.now()
	return e
}

// shown returns the entries as the list and the index have them. The caller holds mu.
func (s indexed) shown() map[string]lease.Entry {
	if s.lag == 0 {
		return s.entries
	}
	limit := time.Now().Add(-s.lag)
	var shown map[string]lease.Entry
	for _, p := range *s.past {
		if !p.from.After(limit) {
			shown = p.entries
		}
	}
	return shown
}

func (s indexed) List(ctx context.Context) (all []lease.Entry, err error) {
	s.lists.Add(1)
	s.set(func() {
		_, err = s.call(ctx, "list", "")
		for _, e := range s.shown() {
			all = append(all, s.at(e))
		}
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

func (s indexed) Get(ctx context.Context, name string) (lease.Entry, error) {
	e, err := s.memory.Get(ctx, name)
	return s.at(e), err
}

func (s indexed) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	e, err := s.memory.Put(ctx, old, value)
	s.set(func() { *s.past = append(*s.past, past{time.Now(), maps.Clone(s.entries)}) })
	return s.at(e), err
}

// slot is what the index knows of a slot.
type slot struct {
	lease.Entry
	Worker int64
	Token  string `json:"token"`
	Until  int64  `json:"until_ms"`
}

// slots returns the slots of a range by their ends. The caller holds mu.
func (s indexed) slots(entries map[string]lease.Entry, first, last int64) (all []slot) {
	for name, e := range entries {
		r := slot{Entry: s.at(e)}
		if _, err := fmt.Sscanf(name, lease.SlotPrefix+"%d", &r.Worker); err == nil &&
			r.Worker >= first && r.Worker <= last && json.Unmarshal(e.Value, &r) == nil {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b slot) int {
		return cmp.Or(cmp.Compare(a.Until, b.Until), cmp.Compare(a.Worker, b.Worker))
	})
	return all
}

func (s indexed) Look(
	ctx context.Context, q lease.Query,
) (header lease.Entry, slots []lease.Entry, err error) {
	s.set(func() {
		if _, err = s.call(ctx, "look", ""); err != nil {
			return
		}
		entries := s.shown()
		header = s.at(entries[lease.HeaderName])
		for _, r := range s.slots(entries, q.First, q.Last) {
			if q.Reserved || r.Until <= header.At.UnixMilli() {
				slots = append(slots, r.Entry)
			}
		}
		slots = slots[min(q.Skip, len(slots)):]
		slots = slots[:min(q.Limit, len(slots))]
	})
	return header, slots, err
}

func (s indexed) Latest(ctx context.Context) (e lease.Entry, err error) {
	s.set(func() {
		e.Name = slot0 // and no Version: there is none
		if _, err = s.call(ctx, "latest", ""); err != nil {
			return
		}
		if all := s.slots(s.entries, 0, 1<<62); len(all) > 0 {
			e = all[len(all)-1].Entry
		}
	})
	return e, err
}

func (s indexed) Shows(ctx context.Context, name, token string) (shown bool, err error) {
	s.set(func() {
		_, err = s.call(ctx, "shows", name)
		shown = strings.Contains(string(s.shown()[name].Value), `"token":"`+token+`"`)
	})
	return shown, err
}

func (s indexed) Number(
	ctx context.Context, first, last int64, n int,
) (ids []int64, own bool, err error) {
	s.set(func() {
		if _, err = s.call(ctx, "number", ""); err != nil {
			return
		}
		if s.counter != nil {
			if s.counter.Load() < last {
				ids, own = []int64{s.counter.Add(1)}, true
			}
			return
		}
		shown := s.shown()
		for id := first; id <= last && len(ids) < n; id++ {
			if _, ok := shown[lease.SlotPrefix+fmt.Sprint(id)]; !ok {
				ids = append(ids, id)
			}
		}
	})
	return ids, own, err
}

func (s indexed) Owns(ctx context.Context, worker int64) (bool, error) {
	var err error
	s.set(func() { _, err = s.call(ctx, "owns", "") })
	return worker <= s.counter.Load(), err
}

func (s indexed) Used(ctx context.Context, worker int64) (used bool, err error) {
	s.set(func() { _, err = s.call(ctx, "used", "") })
	return s.counter != nil && worker <= s.counter.Load(), err
}

// TestIndexed runs the suite on stores with an index that counts for itself or not, is up to date or
// not, and loses answers or not. No start lists the slots.
func TestIndexed(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() func(op, name string) (bool, error){
		"sound":        func() func(op, name string) (bool, error) { return nil },
		"answers lost": func() func(op, name string) (bool, error) { return losing(3) },
	} {
		for _, lag := range []time.Duration{0, 20 * time.Millisecond} {
			for _, own := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, lag %v, own %v", name, lag, own), func(t *testing.T) {
					t.Parallel()
					start := func(tb testing.TB) indexed {
						s := newIndexed(lag, own)
						s.fault = fault()
						tb.Cleanup(func() {
							if n := s.lists.Load(); n > 0 {
								tb.Errorf("%d lists, want none", n)
							}
						})
						return s
					}
					f := assignertest.Factory{
						Authority: func(tb testing.TB) func() assigner.Assigner {
							s := start(tb)
							return func() assigner.Assigner { return newAssigner(tb, s, nil) }
						},
						Clock: func(tb testing.TB) (func() assigner.Assigner, func(time.Duration)) {
							s := start(tb)
							return func() assigner.Assigner { return newAssigner(tb, s, nil) }, s.clock.step
						},
					}
					if !own { // else worker ids are those of the counter
						f.Ranges = func(tb testing.TB) func(first, last int64) assigner.Assigner {
							s := start(tb)
							return func(first, last int64) assigner.Assigner {
								a, err := lease.New(s, &lease.Options{First: first, Last: last})
								if err != nil {
									return assignertest.Refused(err)
								}
								return a
							}
						}
					}
					assignertest.Run(t, f)
				})
			}
		}
	}
}

// lagging is a memory whose List is that of a moment ago, and no index.
type lagging struct{ indexed indexed }

func (s lagging) List(ctx context.Context) ([]lease.Entry, error) { return s.indexed.List(ctx) }
func (s lagging) Get(ctx context.Context, name string) (lease.Entry, error) {
	return s.indexed.memory.Get(ctx, name)
}
func (s lagging) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	return s.indexed.Put(ctx, old, value)
}

// TestLaggingList runs the suite on a store whose list is old.
func TestLaggingList(t *testing.T) {
	t.Parallel()
	assignertest.Run(t, assignertest.Factory{
		Authority: func(tb testing.TB) func() assigner.Assigner {
			s := lagging{newIndexed(20*time.Millisecond, false)}
			return func() assigner.Assigner { return newAssigner(tb, s, nil) }
		},
	})
}

// TestHeaderDeletedUnseen: a header that was deleted is missed also where the list does not show yet that
// there were any slots. The one of worker 0 was deleted as well.
func TestHeaderDeletedUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := lagging{newIndexed(time.Second, false)}
		for name, text := range map[string]string{
			lease.HeaderName:       `{"v":1,"token":"5","layout":"","used":[[0,2]]}`,
			lease.SlotPrefix + "1": `{"v":1,"gen":1,"token":"7","owner":"o","until_ms":1}`,
		} {
			if _, err := s.Put(t.Context(), lease.Entry{Name: name}, []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		s.indexed.set(func() { delete(s.indexed.entries, lease.HeaderName) })
		c, err := newAssigner(t, s, nil).Assign(t.Context(), maxWorker)
		if !errors.Is(err, assigner.ErrWentBack) || !strings.Contains(err.Error(), "the slot of worker 1 until") {
			t.Errorf("Assign = %v, %v, want ErrWentBack for worker 1", c, err)
		}
	})
}

// fresh is a lagging memory that says that its lists are not old.
type fresh struct{ lagging }

func (fresh) Fresh() {}

// TestListAgain: the first start of all lists once more, for a list that shows the header it has made,
// unless lists are not old.
func TestListAgain(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		s := lagging{newIndexed(0, false)}
		store, want := lease.Store(fresh{s}), int64(1)
		if old {
			store, want = s, 2
		}
		assign(t, newAssigner(t, store, nil))
		if n := s.indexed.lists.Load(); n != want {
			t.Errorf("old %v: %d lists, want %d", old, n, want)
		}
	}
}

// TestDeletedUnseen: a slot that was deleted, and that the list still shows, is not made again.
func TestDeletedUnseen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := lagging{newIndexed(time.Second, false)}
		assign(t, newAssigner(t, s, nil))
		time.Sleep(2 * time.Second)
		s.indexed.set(func() { delete(s.indexed.entries, slot0) })
		if c, err := newAssigner(t, s, nil).Assign(t.Context(), 0); !errors.Is(err, assigner.ErrWorkersExhausted) {
			t.Errorf("Assign = %v, %v, want ErrWorkersExhausted", c, err)
		}
	})
}

// TestStubborn: a store whose index shows nothing for an hour is a line in the log, and one line only.
func TestStubborn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(time.Hour, false)
		assign(t, newAssigner(t, s, nil))
		var log bytes.Buffer
		a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if c, err := a.Assign(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Assign = %v, %v, want its ctx's error", c, err)
		}
		if n := strings.Count(log.String(), "waiting for the store"); n != 1 {
			t.Errorf("%d lines, want 1: %s", n, log.String())
		}
	})
}

// TestRestoreLaggingList: a Restore raises the ends of slots too that the list does not show yet.
func TestRestoreLaggingList(t *testing.T) {
	t.Parallel()
	for _, index := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newIndexed(time.Second, false)
			a := newAssigner(t, s, nil)
			if !index {
				a = newAssigner(t, lagging{s}, nil)
			}
			assign(t, a)
			time.Sleep(2 * time.Second)
			slot := fmt.Sprintf(`{"v":1,"gen":1,"token":"7","owner":"o","until_ms":%d}`, time.Now().Add(time.Hour).UnixMilli())
			if _, err := s.Put(t.Context(), lease.Entry{Name: lease.SlotPrefix + "1"}, []byte(slot)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second / 2)
			floor := time.Now().Add(48 * time.Hour).Truncate(time.Millisecond)
			if err := a.Restore(t.Context(), 5, 48*time.Hour, ""); err != nil {
				t.Fatal(err)
			}
			time.Sleep(2 * time.Second)
			slots, err := a.Slots(t.Context())
			if err != nil || len(slots) != 2 {
				t.Fatalf("Slots = %v, %v, want two", slots, err)
			}
			for _, slot := range slots {
				if slot.Until.Before(floor) {
					t.Errorf("worker %d is reserved until %v, want %v or later", slot.Worker, slot.Until, floor)
				}
			}
		})
	}
}

// TestSpareKept: a worker id that an Assign got as its own and did not come to use is the next one's,
// once, if the layout has room for it and the store has not forgotten it.
func TestSpareKept(t *testing.T) {
	t.Parallel()
	for _, numbered := range []bool{false, true} {
		for _, made := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				s := newIndexed(0, true)
				var store lease.Store = s
				if !numbered {
					store = s.memory
				}
				var log bytes.Buffer
				a := newAssigner(t, store, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
				first := assign(t, a).Worker()
				ctx, cancel := context.WithCancel(t.Context())
				s.set(func() {
					s.fault = func(op, name string) (bool, error) {
						if op == "put" && strings.HasPrefix(name, lease.SlotPrefix) {
							cancel()
							return made, errLost
						}
						return true, nil
					}
				})
				if c, err := a.Assign(ctx, maxWorker); !errors.Is(err, context.Canceled) {
					t.Fatalf("Assign = %v, %v, want its ctx's error", c, err)
				}
				s.set(func() { s.fault = nil })
				if _, err := a.Assign(t.Context(), first); !errors.Is(err, assigner.ErrWorkersExhausted) {
					t.Errorf("Assign up to %d = %v, want ErrWorkersExhausted", first, err)
				}
				one, err := a.Assign(t.Context(), first+1)
				if err != nil || one.Worker() != first+1 {
					t.Fatalf("Assign up to %d = %v, %v, want that worker, which was left over", first+1, one, err)
				}
				if two := assign(t, a).Worker(); two != first+2 {
					t.Errorf("worker = %d, want %d", two, first+2)
				}
				if strings.Contains(log.String(), "left alone") {
					t.Errorf("the log is %q, want no worker id that is left alone", &log)
				}
			})
		}
	}
}

// TestBusySlot: a slot that another session holds is left alone while there are others, and waited for
// where there are none. A change of it that is made late is found.
func TestBusySlot(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 1, 1, 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newIndexed(0, false)
			var claims []assigner.Claim
			for range 1 + others {
				claims = append(claims, assign(t, newAssigner(t, s, nil)))
			}
			for _, c := range claims {
				if err := c.Release(t.Context(), time.Now().Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			held := &busy{indexed: s, name: slot0, until: time.Now().Add(3 * time.Second)}
			c, err := newAssigner(t, held, nil).Assign(t.Context(), int64(others))
			if want := int64(others); err != nil || c.Worker() != want {
				t.Errorf("Assign = %v, %v, want worker %d", c, err, want)
			}
			held.late.Wait()
			owned := 0
			for i := range 1 + others {
				if recordOf(t, s.memory, lease.SlotPrefix+fmt.Sprint(i)).Owner != "" {
					owned++
				}
			}
			// A change of the held slot is made in the end, and its slot rests for a window.
			if owned > 1+others || owned == 0 {
				t.Errorf("%d slots have owners, want at most %d", owned, 1+others)
			}
		})
	}
}

// busy is an indexed whose entry of a name another session holds until an instant. Changes that come
// before wait for it, and are made then although nobody waits for their answers.
type busy struct {
	indexed
	name  string
	until time.Time
	late  sync.WaitGroup // changes that wait
}

func (s *busy) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	if left := time.Until(s.until); old.Name == s.name && left > 0 {
		s.late.Go(func() {
			time.Sleep(left)
			_, _ = s.indexed.Put(context.WithoutCancel(ctx), old, value)
		})
		time.Sleep(time.Second)
		return lease.Entry{}, lease.ErrBusy
	}
	return s.indexed.Put(ctx, old, value)
}

// TestSlotAhead: a slot that is free by the store's clock, and ends far ahead of the local one, is
// worse than a new worker id and better than none.
func TestSlotAhead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list, index := told{&memory{}, &clock{}}, newIndexed(0, false)
		for name, s := range map[string]lease.Store{"list": list, "index": index} {
			clock := list.clock
			if name == "index" {
				clock = index.clock
			}
			last := assign(t, newAssigner(t, s, nil))
			clock.step(6 * time.Hour)
			start := time.Now()
			for want := range int64(2) {
				c, err := newAssigner(t, s, nil).Assign(t.Context(), 1)
				if err != nil || c.Worker() != 1-want {
					t.Fatalf("%s: Assign = %v, %v, want worker %d", name, c, err, 1-want)
				}
				if want == 1 && (!from(c).Equal(until(last)) || time.Since(start) > time.Minute) {
					t.Errorf("%s: after %v the window begins at %v, want %v",
						name, time.Since(start), from(c), until(last))
				}
			}
			if c, err := newAssigner(t, s, nil).Assign(t.Context(), 1); !errors.Is(err, assigner.ErrWorkersExhausted) {
				t.Errorf("%s: Assign = %v, %v, want ErrWorkersExhausted", name, c, err)
			}
		}
	})
}

// meanwhile is an indexed that calls a function once, after its first Get.
type meanwhile struct {
	indexed
	do *func()
}

func (s meanwhile) Get(ctx context.Context, name string) (lease.Entry, error) {
	e, err := s.indexed.Get(ctx, name)
	if do := *s.do; do != nil {
		*s.do = nil
		do()
	}
	return e, err
}

// TestHeaderMeanwhile: a process that finds no header, while another one makes it and its first slot,
// does not take that for a header that was deleted.
func TestHeaderMeanwhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, false)
		do := func() { assign(t, newAssigner(t, s, nil)) }
		c, err := newAssigner(t, meanwhile{s, &do}, nil).Assign(t.Context(), maxWorker)
		if err != nil || c.Worker() == 0 || do != nil {
			t.Errorf("Assign = %v, %v, want another worker than 0", c, err)
		}
	})
}

// TestHeaderDeletedIndexed: an Index is asked whether there are slots before a header is made, and no answer is
// not none.
func TestHeaderDeletedIndexed(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newIndexed(0, true)
			assign(t, newAssigner(t, s, nil))
			remove(s.memory, lease.HeaderName)
			s.fault = func(op, _ string) (bool, error) {
				if op == "latest" && lost {
					lost = false
					return false, errLost
				}
				return true, nil
			}
			c, err := newAssigner(t, s, nil).Assign(t.Context(), maxWorker)
			if !errors.Is(err, assigner.ErrWentBack) || s.has(lease.HeaderName) {
				t.Errorf("Assign = %v, %v, want ErrWentBack and no header", c, err)
			}
		})
	}
}

// TestUniverseIndexed: the header of an earlier version gets its universe under its own name, whatever name an
// Index gives it.
func TestUniverseIndexed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, false)
		put(s.memory, lease.HeaderName, `{"v":1,"token":"t","layout":"","used":[]}`)
		assign(t, newAssigner(t, unnumbered{s}, nil))
		if s.has("") || recordOf(t, s.memory, lease.HeaderName).Universe == "" {
			t.Errorf("the entries are %v, want the header with a universe", s.entries)
		}
	})
}
