package lease_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uidring/uidring/assigner"
	"github.com/uidring/uidring/assigner/lease"
	"github.com/uidring/uidring/internal/storekind"
)

// contextFor returns the test's context, which ends after d.
func contextFor(tb testing.TB, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(tb.Context(), d)
}

// keyed is a store that gives out worker ids for windows without an end as well, up to highest.
type keyed struct {
	*ambush
	name    string
	highest int64 // as its rows show it
	stopped bool
}

var _ storekind.Mover[lease.Entry] = (*keyed)(nil)

func (k *keyed) String() string { return cmp.Or(k.name, "default") }

func (k *keyed) Running(ctx context.Context, _ time.Time) (head lease.Entry, slots []lease.Entry, err error) {
	all, err := k.List(ctx)
	for _, e := range all {
		if e.Name == lease.HeaderName {
			head = e
		} else {
			slots = append(slots, e)
		}
	}
	return head, slots, err
}

func (k *keyed) Deleted(context.Context, int64) ([]int64, int64, error) {
	return nil, 0, k.through("deleted", "", func() error { return nil })
}

func (k *keyed) Endless(_ context.Context, stop bool) (int64, error) {
	err := k.through("endless", fmt.Sprint(stop), func() error { return nil })
	k.stopped = k.stopped || stop && err == nil
	return k.highest, err
}

// TestMoveStop: worker ids without an end are given out until the source is sealed, and none after it. The
// highest is that of the moment when they were stopped, whichever rows are deleted afterwards.
func TestMoveStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &keyed{ambush: newAmbush(), highest: 3}, place{newAmbush(), "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)

		// An era is announced when the move is about to write the seal.
		from.once(1, "put", lease.HeaderName, func(run func() error) error {
			from.edit(lease.HeaderName, moveOne, strings.Replace(moveTwo, ",", "|", 1))
			return run()
		})
		if _, err := lease.Move(t.Context(), a, b, nil); !errors.Is(err, lease.ErrMoveRefused) || from.stopped {
			t.Fatalf("Move = %v, and no worker id is given out any more: %v, want it refused", err, from.stopped)
		}
		from.edit(lease.HeaderName, strings.Replace(moveTwo, ",", "|", 1), moveOne)

		from.once(1, "endless", "true", func(run func() error) error {
			if layout := recordOf(t, from.memory, lease.HeaderName).Layout; !storekind.InMove(layout) {
				t.Errorf("it is stopped before the seal, with the layouts %q", layout)
			}
			from.highest = 9
			defer func() {
				from.around = func(_, _ string, run func() error) error { from.highest = 2; return run() }
			}()
			return run()
		})
		again := to.once(2, "put", lease.HeaderName, notDone) // so that it is stopped once more
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil || !from.stopped || !*again {
			t.Fatal(err, from.stopped, *again)
		}
		if used := recordOf(t, to.memory, lease.HeaderName).Used; len(used) != 1 || used[0] != [2]int64{0, 10} {
			t.Errorf("used in the target: %v, want 0 to 9", used)
		}

		// The table of keys alone goes back.
		from.stopped = false
		if _, err := lease.Move(t.Context(), a, b, &lease.MoveOptions{DryRun: true}); err != nil || from.stopped {
			t.Errorf("the dry run = %v, and changes something: %v", err, from.stopped)
		}
		if _, err := lease.Move(t.Context(), a, b, nil); err != nil || !from.stopped {
			t.Errorf("the same Move = %v, and no worker id is given out any more: %v", err, from.stopped)
		}
	})
}

// TestMoveKeysAlone: a source whose worker ids have no end, and which has no entry, is moved: all are used
// in the target. Move says so where there are any.
func TestMoveKeysAlone(t *testing.T) {
	t.Parallel()
	for _, highest := range []int64{-1, 0} {
		synctest.Test(t, func(t *testing.T) {
			from, to := &keyed{ambush: newAmbush(), highest: highest}, named{&memory{}, "new"}
			if highest < 0 {
				mustAssign(t, bound(t, from, moveOne, nil))
			}
			var lines []string
			o := &lease.MoveOptions{Report: func(line string) { lines = append(lines, line) }}
			_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), o)
			if err != nil {
				t.Fatal(err)
			}
			const stop = "no new worker id without an end is given out in default any more; the highest is 0"
			if used := recordOf(t, to.memory, lease.HeaderName).Used; slices.Contains(lines, stop) != (highest == 0) ||
				strings.Contains(strings.Join(lines, "\n"), "is -1") || len(used) != 1 || used[0] != [2]int64{0, 1} {
				t.Errorf("used in the target: %v, want 0; it reports %q", used, lines)
			}
		})
	}
}

// TestMoveIntoKeys: a store that gives out worker ids without an end is no target, and goes on doing so.
func TestMoveIntoKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := named{&memory{}, "old"}, &keyed{ambush: newAmbush(), highest: 0}
		mustAssign(t, bound(t, from, moveOne, nil))
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil), nil)
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "default gives out") || to.stopped {
			t.Errorf("Move = %v, and the target gives out none any more: %v, want it refused", err, to.stopped)
		}
	})
}

// TestMoveFewKeys: processes whose windows have an end count where too few worker ids are left.
func TestMoveFewKeys(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &keyed{ambush: newAmbush(), highest: 3}, named{&memory{}, "new"}
		for range 3 {
			mustAssign(t, bound(t, from, moveOne, nil))
		}
		_, err := lease.Move(t.Context(), bound(t, from, moveOne, nil), bound(t, to, moveOne, nil),
			&lease.MoveOptions{MaxWorker: 7})
		if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "4 of 8, want 7 at least") {
			t.Errorf("Move = %v, want it refused: three processes are to be replaced", err)
		}
	})
}

// TestMoveTargetForgets: a target that goes back to before its move does not know which worker ids are in
// use without an end. The same Move after its Restore tells it again.
func TestMoveTargetForgets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &keyed{ambush: newAmbush(), highest: 5}, named{&memory{}, "new"}
		mustAssign(t, bound(t, from, moveOne, nil))
		mustMove(t, from, to)
		c := mustAssign(t, bound(t, to, moveOne, nil))
		_, end := c.Window()
		to.set(func() { to.entries = nil })
		a, b := bound(t, from, moveOne, nil), bound(t, to, moveOne, nil)
		refused := func(when string) {
			t.Helper()
			_, err := lease.Move(t.Context(), a, b, nil)
			if !errors.Is(err, lease.ErrMoveRefused) || !strings.Contains(err.Error(), "run Restore there") {
				t.Errorf("Move %s = %v, want that Restore is needed", when, err)
			}
		}
		refused("into a target that is gone")
		for last := range 2 {
			if err := b.Restore(t.Context(), 0, time.Hour, moveOne); err != nil {
				t.Fatal(err)
			}
			if last == 0 {
				time.Sleep(24 * time.Hour)
				refused("when the floor has passed, as those of other universes have")
			}
		}
		mustMove(t, from, to)
		for i := range int64(8) {
			c := mustAssign(t, bound(t, to, moveOne, nil))
			if begin, _ := c.Window(); c.Worker() != 6+i || begin.Before(end) {
				t.Errorf("worker %d from %v, want %d, and %v or later", c.Worker(), begin, 6+i, end)
			}
		}
		to.set(func() { to.entries = nil })
		mustAssign(t, bound(t, to, moveOne, nil)) // another universe, as far as anybody knows
		refused("into another universe")
	})
}

// TestMoveEras: an era that is added to the target begins after the windows that it did not get.
func TestMoveEras(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := &keyed{ambush: newAmbush(), highest: 5}, named{&memory{}, "new"}
		a := bound(t, from, moveOne, nil)
		mustAssign(t, a)
		if err := a.Restore(t.Context(), 5, 3*time.Hour, moveOne); err != nil { // owners run on, at most for so long
			t.Fatal(err)
		}
		floor := time.Now().Add(3 * time.Hour)
		mustMove(t, from, to)
		era := func(at time.Time) error {
			list := moveOne + ",28-22-13-0/1s@" + at.UTC().Format(time.RFC3339)
			_, err := bound(t, to, list, nil).Assign(t.Context(), 1<<22-1)
			return err
		}
		if err := era(floor.Add(-time.Minute)); !errors.Is(err, assigner.ErrLayoutMismatch) ||
			!strings.Contains(err.Error(), "let it begin later") {
			t.Errorf("an era that begins before the floor = %v, want ErrLayoutMismatch", err)
		}
		if err := era(floor.Add(time.Minute)); err != nil {
			t.Errorf("an era that begins after the floor = %v", err)
		}
	})
}
