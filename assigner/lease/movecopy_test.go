package lease_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
)

// stopped runs a Move that is refused somewhere.
func stopped(tb testing.TB, from, to lease.Store) lease.Moved {
	tb.Helper()
	moved, err := lease.Move(tb.Context(), bound(tb, from, moveOne, nil), bound(tb, to, moveOne, nil), nil)
	if !errors.Is(err, lease.ErrRefused) {
		tb.Fatalf("Move = %v, want that it broke off", err)
	}
	return moved
}

// notOpened has the third write of the target's header refused, which comes after its slots.
func notOpened(to place) { to.once(3, "put", lease.HeaderName, refused) }

// TestMoveCopied: a slot of the target goes on where the source's is, under the layouts of the target
// unless its own are others.
func TestMoveCopied(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
		for range 4 {
			mustAssign(t, bound(t, from, moveOne, nil))
		}
		const other = "a layout of its own"
		from.edit("slot-1", moveOne, other)
		from.edit("slot-2", moveOne, moveTwo)
		from.edit("slot-3", `"layout":"`+moveOne+`",`, "")
		mustMove(t, from, to)
		for i, want := range []string{moveOne, other, moveOne, moveOne} {
			name := lease.SlotPrefix + itoa(int64(i))
			was, got := recordOf(t, from.memory, name), recordOf(t, to.memory, name)
			was.FencingToken++
			if most := recordOf(t, to.memory, lease.HeaderName).Changes; got.Changes < 1 || got.Changes > most {
				t.Errorf("%s counts %d changes of the header, want 1 to %d", name, got.Changes, most)
			}
			was.Changes = got.Changes
			if was.Layout = want; fmt.Sprint(got) != fmt.Sprint(was) {
				t.Errorf("%s is %+v, want %+v", name, got, was)
			}
		}
	})
}

// TestMoveEndStays: no end in the target moves back, whatever the source's is by now, and an entry of
// the target that cannot be read ends the move.
func TestMoveEndStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := place{newAmbush(), "old"}, place{newAmbush(), "new"}
		c := mustAssign(t, bound(t, from, moveOne, nil))
		notOpened(to)
		stopped(t, from, to)
		if err := c.Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		to.edit(slot0, `"gen":`, `"gen":-`)
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "new cannot be read: slot-0") {
			t.Errorf("Move onto an entry that cannot be read = %v, want it refused", err)
		}
		to.edit(slot0, `"gen":-`, `"gen":`)
		mustMove(t, from, to)
		if got := recordOf(t, to.memory, slot0).Until; got != until(c).UnixMilli() {
			t.Errorf("the slot ends at %d, want %d as at first", got, until(c).UnixMilli())
		}
	})
}

// TestMoveClockBack: a slot that an earlier run has left to the floor begins there too when a clock that
// went back has it copied.
func TestMoveClockBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to, local := place{newAmbush(), "old"}, place{newAmbush(), "new"}, &clock{}
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		if err := mustAssign(t, a).Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		notOpened(to)
		floor := stopped(t, from, to).Floor.UnixMilli()
		if to.has(slot0) {
			t.Fatal("the slot is copied at first")
		}
		local.step(-time.Hour)
		a.SetClock(local.now)
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil {
			t.Fatal(err)
		}
		if got := recordOf(t, to.memory, slot0).Until; got != floor {
			t.Errorf("the slot ends at %d, want the floor, %d", got, floor)
		}
	})
}

// TestMoveRowDeleted: where the target refuses a slot that is not there, the slot stays missing if its
// worker id is used for good, and is made if not.
func TestMoveRowDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, place{newAmbush(), "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		to.once(1, "put", slot0, conflict)
		mustMove(t, from, to)
		if c := mustAssign(t, bound(t, to, moveOne, nil)); to.has(slot0) || c.Worker() != 1 {
			t.Errorf("the slot is made: %v, and worker %d is claimed, want 1", to.has(slot0), c.Worker())
		}
	})
	synctest.Test(t, func(t *testing.T) {
		for _, answer := range []error{nil, lease.ErrRefused} {
			from, to := named{&memory{}, "old"}, newIndexed(0, false)
			mustAssign(t, bound(t, from, moveOne, nil))
			puts := 0
			to.fault = func(op, name string) (bool, error) {
				if op == "put" && name == slot0 {
					if puts++; puts == 1 {
						return false, lease.ErrConflict
					}
				}
				if op == "used" {
					return true, answer
				}
				return true, nil
			}
			_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
			if !errors.Is(err, answer) || to.has(slot0) != (answer == nil) {
				t.Errorf("answered %v, Move = %v, and the slot is made: %v", answer, err, to.has(slot0))
			}
		}
	})
}

// TestMoveToNumberer: a target that knows which worker ids have slots is told of the others, in a short
// list.
func TestMoveToNumberer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, newIndexed(0, false)
		mustAssign(t, bound(t, from, moveOne, nil))
		from.edit(lease.HeaderName, `"used":[]`, `"used":[[0,20]]`)
		remove(from.memory, slot0)
		for i := range 6 {
			put(from.memory, fmt.Sprintf("slot-%d", 2*i+1), fmt.Sprintf(
				`{"v":1,"gen":1,"token":"1","owner":"","until_ms":%d}`, time.Now().Add(time.Hour).UnixMilli()))
		}
		mustMove(t, from, to)
		used := recordOf(t, to.memory, lease.HeaderName).Used
		if len(used) != 5 || used[0][0] != 0 || used[4] != [2]int64{12, 20} {
			t.Errorf("used in the target: %v, want five ranges from 0, the last from 12 to 20", used)
		}
	})
}

// TestMoveProgress: a line tells of every five hundred slots, but not of the last ones.
func TestMoveProgress(t *testing.T) {
	t.Parallel()
	for slots, want := range map[int][]string{
		500: nil, 1001: {"copied 500 of 1001 slots", "copied 1000 of 1001 slots"},
	} {
		synctest.Test(t, func(t *testing.T) {
			from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
			mustAssign(t, bound(t, from, moveOne, nil))
			from.edit(lease.HeaderName, `"used":[]`, fmt.Sprintf(`"used":[[0,%d]]`, slots))
			for i := 1; i < slots; i++ {
				put(from.memory, fmt.Sprintf("slot-%d", i), fmt.Sprintf(
					`{"v":1,"gen":1,"token":"1","owner":"","until_ms":%d}`, time.Now().Add(time.Hour).UnixMilli()))
			}
			var lines []string
			o := &lease.MoveOptions{Report: func(line string) {
				if strings.HasPrefix(line, "copied") && !strings.Contains(line, "windows") {
					lines = append(lines, line)
				}
			}}
			_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), o)
			if err != nil || !slices.Equal(lines, want) {
				t.Errorf("%v, and it reports %q, want %q", err, lines, want)
			}
		})
	}
}

// TestMoveBackLater: where the source went back and has granted windows since, the target's slots end
// no earlier, and those that do already go on. A slot that cannot be read hides no other.
func TestMoveBackLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
		c := []assigner.Claim{}
		for range 3 {
			c = append(c, mustAssign(t, bound(t, from, moveOne, nil)))
		}
		restore := from.backup()
		mustMove(t, from, to)
		restore()
		from.edit("slot-0", `"gen":`, `"gen":-`)
		later := until(c[1]).Add(time.Hour).UnixMilli()
		from.edit("slot-1", itoa(until(c[1]).UnixMilli()), itoa(later))
		mustMove(t, from, to)
		if r := recordOf(t, to.memory, "slot-1"); r.Until != later || r.Owner != "" {
			t.Errorf("slot-1 is %+v, want no owner until %d", r, later)
		}
		if r := recordOf(t, to.memory, "slot-2"); r.FencingToken != 2 {
			t.Errorf("slot-2 is at fencing token %d, want 2: it was changed once more", r.FencingToken)
		}
	})
}

// TestMoveBothBack: a source that went back to before its seal is moved into the target that was not
// opened, slots and all.
func TestMoveBothBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := place{newAmbush(), "old"}, place{newAmbush(), "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		restore := from.backup()
		notOpened(to)
		stopped(t, from, to)
		restore()
		mustMove(t, from, to)
		mustAssign(t, bound(t, to, moveOne, nil))
	})
}

// TestMoveFloor: the floor lies a minute before the earliest of three clocks, and not before 1970.
func TestMoveFloor(t *testing.T) {
	t.Parallel()
	const hour = time.Hour
	for _, shift := range [][3]time.Duration{
		{-hour, 0, 0}, {0, -hour, 0}, {0, 0, -hour}, {-30 * 366 * 24 * hour, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			from, to, local := told{&memory{}, &clock{}}, told{&memory{}, &clock{}}, &clock{shift: shift[0]}
			a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
			mustAssign(t, a)
			a.SetClock(local.now)
			from.clock.step(shift[1])
			to.clock.step(shift[2])
			want := time.Now().Add(shift[0] + shift[1] + shift[2] - time.Minute)
			if want.Before(time.UnixMilli(0)) {
				want = time.UnixMilli(0)
			}
			moved, err := lease.Move(t.Context(), a, b, &lease.MoveOptions{DryRun: true})
			if err != nil || moved.Floor.UnixMilli() != want.UnixMilli() {
				t.Errorf("clocks shifted by %v: Move = %+v, %v, want the floor %v", shift, moved, err, want)
			}
		})
	}
}

// TestMoveHeaderListed: a list with a header that cannot be read is not moved from.
func TestMoveHeaderListed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &lateList{named: named{&memory{}, "old"}, n: 1}, named{&memory{}, "new"}
		mustAssign(t, bound(t, from.named, moveOne, nil))
		restore := from.backup()
		from.edit(lease.HeaderName, `"v":1`, `"v":2`)
		from.shown, _ = from.named.List(t.Context())
		restore()
		stopped(t, from, to)
	})
}

// TestMoveUnnamed: of a universe whose claims name no layout nobody knows how many worker ids are left.
func TestMoveUnnamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, named{&memory{}, "new"}
		a, b := newAssigner(t, from, nil), newAssigner(t, to, nil)
		mustAssign(t, a)
		var lines []string
		o := &lease.MoveOptions{DryRun: true, Report: func(line string) { lines = append(lines, line) }}
		moved, err := lease.Move(t.Context(), a, b, o)
		moved.Floor = time.Time{}
		if want := (lease.Moved{Copied: 1, Used: 1, Left: -1}); err != nil || moved != want ||
			strings.Contains(strings.Join(lines, "\n"), "left") {
			t.Errorf("Move = %+v, %v, %q, want %+v", moved, err, lines, want)
		}
		o.DryRun = false
		if _, err := lease.Move(t.Context(), a, b, o); err != nil || mustAssign(t, b).Worker() != 1 {
			t.Error(err)
		}
		o.MaxWorker = -1
		if _, err := lease.Move(t.Context(), a, b, o); err == nil || !strings.Contains(err.Error(), "MaxWorker is -1") {
			t.Errorf("Move with MaxWorker -1 = %v", err)
		}
	})
}
