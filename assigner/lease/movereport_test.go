package lease_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner/lease"
)

// place is an ambush with a name of its own.
type place struct {
	*ambush
	name string
}

func (p place) String() string { return p.name }

// TestMoveReport: what Move says of its steps and returns, also where it breaks off at each of its writes
// and is run again.
func TestMoveReport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := place{newAmbush(), "old"}, place{newAmbush(), "new"}
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		mustAssign(t, a) // is copied
		if err := mustAssign(t, a).Release(t.Context(), time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // its slot's end is the floor
		held := mustAssign(t, bound(t, from, moveOne, &lease.Options{First: 2}))
		deleted := lease.SlotPrefix + "2" // is used for good
		if held.Worker() != 2 {
			t.Fatal(held.Worker())
		}
		remove(from.memory, deleted)
		before := from.backup()

		run := func(what string, dry bool, worker int64, want lease.Moved, steps ...string) {
			t.Helper()
			var lines []string
			got, err := lease.Move(t.Context(), a, b, &lease.MoveOptions{DryRun: dry, MaxWorker: worker,
				Report: func(line string) { lines = append(lines, line) }})
			if err != nil && !errors.Is(err, lease.ErrRefused) {
				t.Errorf("%s: %v", what, err)
			}
			if !slices.Equal(lines, steps) {
				t.Errorf("%s: it reports\n%s\nwant\n%s", what, strings.Join(lines, "\n"), strings.Join(steps, "\n"))
			}
			got.Floor = got.Floor.Truncate(time.Second) // a pause passes
			if got != want {
				t.Errorf("%s: Moved = %+v, want %+v", what, got, want)
			}
		}
		const (
			toClose = `to do: close new to claims, with the layouts "` + moveOne + `"`
			toSeal  = "to do: seal old; its processes go on to the ends of their windows"
			counts  = "1 slots whose windows may still run; windows of the other worker ids begin at " +
				"2000-01-01T00:00:00Z or later"
			toOpen = "to do: open new"
			rest   = "to do: copy the slots whose windows may still run"
			is     = "old is sealed"
			closed = `closed new to claims, with the layouts "` + moveOne + `"`
			sealed = "sealed old: its processes go on to the ends of their windows; start new ones with the new address"
		)
		floor := time.Now().Add(-time.Minute).Round(0)
		seen, wide := lease.Moved{Copied: 1, Used: 2, Left: 3, Floor: floor}, lease.Moved{Copied: 1, Used: 2,
			Left: 1<<22 - 1, Floor: floor}
		blind, copied := lease.Moved{Left: -1}, lease.Moved{Copied: 1, Used: 2, Left: -1, Floor: floor}
		run("the dry run", true, 3, seen, toClose, toSeal, "to do: copy "+counts,
			"worker ids left in the target: 3", toOpen)
		run("the dry run that counts itself", true, 0, wide, toClose, toSeal, "to do: copy "+counts,
			"worker ids left in the target: 4194303", toOpen)
		to.once(1, "put", lease.HeaderName, refused)
		run("not closed", false, 3, seen)
		from.once(1, "put", lease.HeaderName, refused)
		run("not sealed", false, 3, seen, closed)
		run("the dry run that is closed", true, 3, seen, toSeal, "to do: copy "+counts,
			"worker ids left in the target: 3", toOpen)
		to.once(2, "put", lease.HeaderName, refused)
		run("not copied", false, 3, seen, closed, sealed)
		// From here on nothing refuses it, whatever is left.
		run("the dry run that is sealed", true, 1, blind, is, rest, toOpen)
		to.once(3, "put", lease.HeaderName, refused)
		run("not opened", false, 1, copied, closed, sealed, "copied "+counts)
		slots := recordOf(t, to.memory, slot0).FencingToken
		from.once(2, "put", lease.HeaderName, refused)
		lists := to.perhaps(1, "list", "", refused)
		run("not finished", false, 1, copied, closed, sealed, "copied "+counts, "opened new")
		if n := recordOf(t, to.memory, slot0).FencingToken; n != slots+1 || *lists {
			t.Errorf("the slot has the fencing token %d, want %d: it is written once more; its slots are listed: %v",
				n, slots+1, *lists)
		}
		run("the dry run that is open", true, 1, blind, is, rest, toOpen)
		from.once(2, "put", lease.HeaderName, notDone)
		run("finished", false, 1, copied, sealed, "copied "+counts, "opened new")
		const nothing = "old was moved to new before: nothing to do"
		run("once more", false, 1, blind, nothing)
		run("the dry run once more", true, 1, blind, nothing)
		before()
		run("the dry run of a source that went back", true, 1, blind,
			"to do: seal old once more: it went back to before this move")
		puts := to.version
		run("a source that went back", false, 1, copied, sealed, "copied "+counts, "opened new")
		if n := to.version - puts; n != 1 {
			t.Errorf("%d entries of the target were changed, want the header alone", n)
		}
	})
}
