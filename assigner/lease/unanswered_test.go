package lease_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// floorOf returns the floor of a store's header, the zero time without one.
func floorOf(t *testing.T, m *memory) time.Time {
	t.Helper()
	var h struct {
		Floor int64 `json:"floor_ms"`
	}
	m.set(func() {
		if err := json.Unmarshal(m.entries[lease.HeaderName].Value, &h); err != nil {
			t.Error(err)
		}
	})
	return time.UnixMilli(h.Floor)
}

// TestRestoreUnanswered: whichever of its calls gets no answer, and with a slot that cannot be read
// among the others, a Restore that has succeeded has made the floor and the end of each slot.
func TestRestoreUnanswered(t *testing.T) {
	t.Parallel()
	const restored = 3 * reach
	for _, call := range []string{"now ", "list ", "put header", "put slot-0", "put slot-1", "put slot-2"} {
		for name, answer := range map[string]func(func() error) error{"not done": notDone, "done": done} {
			for _, header := range []bool{true, false} {
				synctest.Test(t, func(t *testing.T) {
					s := timed{newAmbush()}
					for range 4 {
						assign(t, newAssigner(t, s, nil))
					}
					s.edit(lease.SlotPrefix+"3", `"v":1`, `"v":7`)
					if !header {
						remove(s.memory, lease.HeaderName)
					}
					op, entry, _ := strings.Cut(call, " ")
					met := s.once(1, op, entry, answer)
					what := fmt.Sprintf("%s %s, with a header: %v", call, name, header)
					least := time.Now().Add(restored)
					if err := newAssigner(t, s, nil).Restore(t.Context(), 5, restored, ""); err != nil || !*met {
						t.Fatalf("%s: %v, and it was called: %v", what, err, *met)
					}
					if floorOf(t, s.memory).Before(least) {
						t.Errorf("%s: the floor is %v, want %v or later", what, floorOf(t, s.memory), least)
					}
					for _, slot := range []string{slot0, lease.SlotPrefix + "1", lease.SlotPrefix + "2"} {
						if r := recordOf(t, s.memory, slot); time.UnixMilli(r.Until).Before(least) || r.Owner != "" {
							t.Errorf("%s: %s is %+v, want no owner until %v or later", what, slot, r, least)
						}
					}
					if v := string(s.entries[lease.SlotPrefix+"3"].Value); !strings.Contains(v, `"v":7`) {
						t.Errorf("%s: the slot that cannot be read is %s, want it as it was", what, v)
					}
				})
			}
		}
	}
}

// TestRestoreShort: a header that is gone may have had the reach of a day, whatever Restore is told.
func TestRestoreShort(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &memory{}
		assign(t, newAssigner(t, m, nil))
		remove(m, lease.HeaderName)
		if err := newAssigner(t, m, nil).Restore(t.Context(), 0, 0, ""); err != nil {
			t.Fatal(err)
		}
		if floor, least := floorOf(t, m), time.Now().Add(reach); floor.Before(least) {
			t.Errorf("the floor is %v, want %v or later", floor, least)
		}
	})
}

// TestFloorUnanswered: no header is made anew without the time, on which its floor rests.
func TestFloorUnanswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		a := newAssigner(t, s, nil)
		assign(t, a)
		remove(s.memory, lease.HeaderName, slot0, lease.NotePrefix+"0")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.around = func(op, _ string, run func() error) error {
			if op == "now" {
				return errLost
			}
			return run()
		}
		if c, err := a.Assign(ctx, maxWorker); !errors.Is(err, errLost) {
			t.Errorf("Assign without the time = %v, %v, want that error", c, err)
		}
		if e := s.entries[lease.HeaderName]; e.Version != "" {
			t.Errorf("the header is %s, want none", e.Value)
		}
		s.around = nil
		if _, err := a.Assign(t.Context(), maxWorker); !errors.Is(err, assigner.ErrWentBack) {
			t.Errorf("Assign = %v, want ErrWentBack", err)
		}
		if floor, least := floorOf(t, s.memory), time.Now().Add(reach); floor.Before(least) {
			t.Errorf("the floor is %v, want %v or later", floor, least)
		}
	})
}

// TestReachUnanswered: no window is given out before the header has the reach of its process.
func TestReachUnanswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		a := newAssigner(t, s, &lease.Options{Reach: 2 * reach})
		free := assign(t, newAssigner(t, s, nil)) // whose slot will be free: it needs no note
		if err := free.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		s.around = func(op, name string, run func() error) error {
			if op == "put" && name == lease.HeaderName {
				return errLost
			}
			return run()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if c, err := a.Assign(ctx, maxWorker); !errors.Is(err, errLost) {
			t.Errorf("Assign = %v, %v, want the error of the header's write", c, err)
		}
		s.around = nil
		c := assign(t, a)
		if v, want := string(s.entries[lease.HeaderName].Value), `"reach_ms":172800000`; !strings.Contains(v, want) {
			t.Errorf("worker %d has a window, and the header is %s, want %s in it", c.Worker(), v, want)
		}
	})
}

// TestExtendUnanswered: an extension whose slot or whose header cannot be read makes no window
// longer, and one that finds no header remembers how far forgotten windows may reach.
func TestExtendUnanswered(t *testing.T) {
	t.Parallel()
	for _, name := range []string{slot0, lease.HeaderName} {
		synctest.Test(t, func(t *testing.T) {
			s := newAmbush()
			c := assign(t, newAssigner(t, s, nil))
			end := until(c)
			s.once(1, "get", name, refused)
			if _, err := c.Extend(t.Context(), end.Add(time.Hour)); !errors.Is(err, lease.ErrRefused) {
				t.Errorf("Extend without %s = %v, want ErrRefused", name, err)
			}
			if !until(c).Equal(end) {
				t.Errorf("the window ends at %v without %s, want %v as before", until(c), name, end)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		s := timed{newAmbush()}
		a := newAssigner(t, s, nil)
		c := assign(t, a)
		restore := s.backup()
		remove(s.memory, lease.HeaderName)
		s.once(2, "now", "", notDone)
		if _, err := c.Extend(t.Context(), until(c).Add(time.Minute)); !errors.Is(err, assigner.ErrWentBack) {
			t.Fatalf("Extend without a header = %v, want ErrWentBack", err)
		}
		least := time.Now().Add(reach).Truncate(time.Millisecond)
		restore()
		if next, err := a.Assign(t.Context(), maxWorker); err == nil && from(next).Before(least) {
			t.Errorf("the next window begins at %v, want %v or later", from(next), least)
		}
		if next := assign(t, a); from(next).Before(least) {
			t.Errorf("the window after it begins at %v, want %v or later", from(next), least)
		}
	})
}

// TestRestoreUnlisted: a Restore that cannot list the slots anew fails.
func TestRestoreUnlisted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newAmbush()
		assign(t, newAssigner(t, s, nil))
		s.once(2, "list", "", refused)
		if err := newAssigner(t, s, nil).Restore(t.Context(), 0, 0, "l"); !errors.Is(err, lease.ErrRefused) {
			t.Errorf("Restore = %v, want ErrRefused", err)
		}
	})
}

// TestRestoreSeen: a Restore waits for a list that shows its header, begins again where another process has
// changed the header meanwhile, and ends where the header is refused.
func TestRestoreSeen(t *testing.T) {
	t.Parallel()
	for _, meet := range []struct {
		header func(s watched, run func() error) error
		want   error
	}{
		{func(_ watched, run func() error) error { return run() }, nil},
		{func(s watched, run func() error) error {
			e := s.entries[lease.HeaderName]
			_, err := s.indexed.Put(context.Background(), e, e.Value)
			return errors.Join(err, run())
		}, nil},
		{func(_ watched, _ func() error) error { return lease.ErrRefused }, lease.ErrRefused},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := watched{newIndexed(time.Second, false), &hook{}}
			assign(t, newAssigner(t, s, nil))
			time.Sleep(2 * time.Second)
			s.once(1, "get", lease.HeaderName, func(run func() error) error { return meet.header(s, run) })
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			begin := time.Now()
			err := newAssigner(t, s, nil).Restore(ctx, 0, 0, "l")
			if !errors.Is(err, meet.want) || err == nil && time.Since(begin) < time.Second {
				t.Errorf("Restore = %v after %v, want %v", err, time.Since(begin), meet.want)
			}
		})
	}
}
