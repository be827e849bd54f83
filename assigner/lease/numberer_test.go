package lease_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// skipping is a Numberer that skips worker ids, as a database's counter does.
type skipping struct {
	indexed
	by int64
}

func (s skipping) Number(ctx context.Context, first, last int64, n int) ([]int64, bool, error) {
	s.counter.Add(s.by)
	return s.indexed.Number(ctx, first, last+s.by, n)
}

// TestNumberBeyondRange: a worker id of its own that is above the range gets no slot, and is the next
// one's that has room for it.
func TestNumberBeyondRange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := skipping{newIndexed(0, true), 10}
		a := newAssigner(t, s, nil)
		_, err := a.Assign(t.Context(), 5)
		if want := "the new worker id is 11, the highest is 5"; !errors.Is(err, assigner.ErrWorkersExhausted) ||
			!strings.Contains(err.Error(), want) {
			t.Fatalf("Assign up to 5 = %v, want ErrWorkersExhausted: %s", err, want)
		}
		for name := range s.entries {
			if name != lease.HeaderName {
				t.Errorf("%s was made", name)
			}
		}
		if c, err := a.Assign(t.Context(), 20); err != nil || c.Worker() != 11 {
			t.Errorf("Assign up to 20 = %v, %v, want worker 11", c, err)
		}
	})
}

// TestNumberTaken: a worker id that a store numbers again, because it forgot that it was given out,
// is left alone where it has a slot, and that is logged.
func TestNumberTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, true)
		held := assign(t, newAssigner(t, s, nil))
		s.counter.Store(0)
		var log bytes.Buffer
		a := newAssigner(t, s, &lease.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if c := assign(t, a); held.Worker() != 1 || c.Worker() != 2 {
			t.Errorf("workers %d and %d, want 1 and 2", held.Worker(), c.Worker())
		}
		if n := strings.Count(log.String(), "left alone"); n != 1 || !strings.Contains(log.String(), "worker=1") {
			t.Errorf("the log is %q, want worker 1 left alone, once", &log)
		}
	})
}

// TestIndexExhausted: where an index shows all worker ids of a range reserved, the error says until
// when the first of them is, whatever is free outside of the range.
func TestIndexExhausted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, false)
		if err := assign(t, newAssigner(t, s, nil)).Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		o := lease.Options{First: 3, Last: 4, Window: time.Hour}
		assign(t, newAssigner(t, s, &o))
		o.Window = time.Minute
		first := assign(t, newAssigner(t, s, &o))
		_, err := newAssigner(t, s, &o).Assign(t.Context(), maxWorker)
		want := fmt.Sprintf("worker ids 3 to 4 are reserved, the first until %v, for another 1m0s", until(first))
		if !errors.Is(err, assigner.ErrWorkersExhausted) || !strings.Contains(err.Error(), want) {
			t.Errorf("Assign = %v, want ErrWorkersExhausted: %s", err, want)
		}
		time.Sleep(time.Minute)
		if c := assign(t, newAssigner(t, s, &o)); c.Worker() != first.Worker() {
			t.Errorf("worker = %d, want %d, which is free", c.Worker(), first.Worker())
		}
	})
}

// TestIndexExhaustedMany: an index shows the first few slots of a range alone, so the error counts none
// that have no slot, and speaks of the slots that there are.
func TestIndexExhaustedMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, false)
		o := lease.Options{Last: 19}
		for range 20 {
			assign(t, newAssigner(t, s, &o))
		}
		_, err := newAssigner(t, s, &o).Assign(t.Context(), maxWorker)
		want := "all slots of the worker ids 0 to 19 are reserved, the first until"
		if !errors.Is(err, assigner.ErrWorkersExhausted) || !strings.Contains(err.Error(), want) {
			t.Errorf("Assign = %v, want ErrWorkersExhausted: %s", err, want)
		}
	})
}

// TestIndexRefused: what an index or a numberer refuses ends the Assign, which has made no slot.
func TestIndexRefused(t *testing.T) {
	t.Parallel()
	for _, own := range []bool{false, true} {
		for _, call := range []string{"look", "number", "get"} {
			synctest.Test(t, func(t *testing.T) {
				s := newIndexed(0, own)
				assign(t, newAssigner(t, s, nil))
				s.set(func() {
					s.fault = func(op, _ string) (bool, error) {
						if op == call {
							return false, lease.ErrRefused
						}
						return true, nil
					}
				})
				if c, err := newAssigner(t, s, nil).Assign(t.Context(), maxWorker); !errors.Is(err, lease.ErrRefused) {
					t.Errorf("%s refused: Assign = %v, %v, want ErrRefused", call, c, err)
				}
				if len(s.entries) != 2 {
					t.Errorf("%s refused: %d entries, want the header and one slot", call, len(s.entries))
				}
				s.set(func() { s.fault = nil })
				if call != "look" {
					return
				}
				// The same where the index is asked who is the first to be free.
				taken := &lease.Options{Last: 1}
				first := assign(t, newAssigner(t, s, nil)).Worker()
				looks := 0
				s.set(func() {
					s.fault = func(op, _ string) (bool, error) {
						if op == "look" {
							if looks++; looks == 2 {
								return false, lease.ErrRefused
							}
						}
						return true, nil
					}
				})
				_, err := newAssigner(t, s, taken).Assign(t.Context(), first)
				if !own && (!errors.Is(err, lease.ErrRefused) || looks != 2) {
					t.Errorf("the second of %d looks refused: Assign = %v, want ErrRefused", looks, err)
				}
			})
		}
	}
}

// TestSpareFloor: a worker id that is left over from before a Restore may have had a slot and an
// owner since, so its window begins at the floor, unlike that of one that was never numbered before.
func TestSpareFloor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newIndexed(0, true)
		a := newAssigner(t, s, nil)
		assign(t, a)
		ctx, cancel := context.WithCancel(t.Context())
		s.set(func() {
			s.fault = func(op, name string) (bool, error) {
				if op == "put" && strings.HasPrefix(name, lease.SlotPrefix) {
					cancel()
					return false, errLost
				}
				return true, nil
			}
		})
		if c, err := a.Assign(ctx, maxWorker); !errors.Is(err, context.Canceled) {
			t.Fatalf("Assign = %v, %v, want its ctx's error", c, err)
		}
		s.set(func() { s.fault = nil })
		floor := time.Now().Add(time.Hour)
		s.edit(lease.HeaderName, `"v":1`, fmt.Sprintf(`"v":1,"counted_ms":%d`, floor.UnixMilli()))
		if c := assign(t, a); c.Worker() != 2 || from(c).Before(floor) {
			t.Errorf("worker %d begins at %v, want 2, which was left over, at the floor, %v", c.Worker(),
				from(c), floor)
		}
		if c := assign(t, a); c.Worker() != 3 || !from(c).IsZero() {
			t.Errorf("worker %d begins at %v, want 3 without a beginning", c.Worker(), from(c))
		}
	})
}

// TestLateNumber: an Assign whose window has passed before it was confirmed, and whose new slot another
// process has claimed since, does not take that for a number that the store gives out again.
func TestLateNumber(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newWatched(true)
		assign(t, newAssigner(t, s, nil))
		s.once(1, "put", lease.SlotPrefix+"2", func(run func() error) error {
			err := run()
			time.Sleep(2 * time.Second)
			if c := assign(t, newAssigner(t, s, nil)); c.Worker() != 2 {
				t.Errorf("the other has worker %d, want 2", c.Worker())
			}
			return err
		})
		var log bytes.Buffer
		o := lease.Options{Window: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		if c := assign(t, newAssigner(t, s, &o)); c.Worker() != 3 || log.Len() > 0 {
			t.Errorf("worker %d, and the log is %q, want 3 and nothing", c.Worker(), &log)
		}
	})
}

// tabular is a Numberer that keeps what a database has columns for: not how often the header was written, and
// no universe with a slot.
type tabular struct{ indexed }

var unkept = regexp.MustCompile(`,"changes":\d+|("until_ms":\d+),"universe":"[^"]*"`)

func (s tabular) Put(ctx context.Context, old lease.Entry, value []byte) (lease.Entry, error) {
	return s.indexed.Put(ctx, old, unkept.ReplaceAll(value, []byte("$1")))
}

// TestTabular: the engine asks a Numberer for nothing of what a database does not keep.
func TestTabular(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := tabular{newIndexed(0, false)}
		both := layoutOld + "," + beginning(time.Now().Add(100*time.Hour))
		first := assign(t, newAssigner(t, s, nil).BindLayout(layoutOld))
		second := assign(t, newAssigner(t, s, nil).BindLayout(both))
		third := assign(t, newAssigner(t, s, &lease.Options{Reach: 48 * time.Hour}).BindLayout(both))
		for range 3 {
			extend(t, first, time.Hour)
			extend(t, second, time.Hour)
			extend(t, third, time.Hour)
		}
		if err := newAssigner(t, s, nil).TakeBack(t.Context(), layoutOld); err != nil {
			t.Error(err)
		}
		if c, err := newAssigner(t, s, nil).Examine(t.Context()); err != nil || len(c.Faults) > 0 {
			t.Errorf("Examine = %+v, %v, want no faults", c, err)
		}
		extend(t, assign(t, newAssigner(t, s, nil).BindLayout(layoutOld)), time.Hour)
	})
}
